import { afterEach, describe, expect, it } from 'vitest';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import * as v1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v1Stdio from '@modelcontextprotocol/sdk/shared/stdio.js';
import * as v2Client from '@modelcontextprotocol/client';
import * as v2Server from '@modelcontextprotocol/server';
import { findClasses } from './classes.js';
import type { AnyFunction } from './foreign.js';
import { patchExports } from './index.js';
import { type Handler, holder } from './table.js';
import { around } from './wrap.js';

const target = { module: 'test', version: undefined, format: 'given' } as const;
const failures: unknown[] = [];
const install = (handler: Handler, enabled = true): void => {
  holder().active = {
    isEnabled: () => enabled,
    handlers: { 'Protocol.request': handler },
    instrumentTransport: () => undefined,
    failed: (_point, error) => failures.push(error),
  };
};
afterEach(() => {
  holder().active = undefined;
  failures.length = 0;
});

describe('classes', () => {
  it.each([
    ['SDK 1.x client', v1Client, ['Client', 'Protocol']],
    ['SDK 1.x Streamable HTTP', v1Http, ['StreamableHTTPClientTransport']],
    ['SDK 1.x stdio', v1Stdio, ['ReadBuffer']],
    [
      'SDK 2.x client',
      v2Client,
      ['Client', 'Protocol', 'ReadBuffer', 'SSEClientTransport', 'StreamableHTTPClientTransport'],
    ],
    ['SDK 2.x server', v2Server, ['McpServer', 'Protocol', 'ReadBuffer']],
  ] as const)('of %s are known by their methods', (_title, exports, expected) => {
    expect(patchExports(exports, target)).toEqual({ patched: [...expected], missing: [] });
    expect(patchExports(exports, target)).toEqual({ patched: [...expected], missing: [] });
  });

  it('with a required method gone are patched for the rest, and the gap is named', () => {
    class Protocol {
      connect(): void {}
      request(): void {}
      notification(): void {}
      _onrequest(): void {}
      _onresponse(): void {}
    }
    expect(patchExports({ Protocol }, target)).toEqual({
      patched: ['Protocol'],
      missing: ['Protocol._onnotification'],
    });
    expect([...holder().missing]).toContain('Protocol._onnotification');
    holder().missing.delete('Protocol._onnotification');
  });

  it('are not found among exports that throw, freeze or are no classes', () => {
    const hostile = {
      get broken(): never {
        throw new Error('not yet');
      },
      nothing: null,
      arrow: () => undefined,
      text: 'x',
    };
    expect(findClasses(hostile)).toEqual([]);
  });
});

describe('a wrapper', () => {
  const calls: unknown[][] = [];
  const original = function add(this: unknown, ...args: readonly unknown[]): unknown {
    calls.push([...args]);
    if (args[0] === 'throw') throw new Error('of the SDK');
    return args.length;
  } as AnyFunction;
  const wrapped = around(original, 'Protocol.request');

  it.each<[string, () => void]>([
    ['no table', () => undefined],
    ['a table that is switched off', () => install(() => 'never', false)],
    [
      'a handler that fails before the method ran',
      () =>
        install(() => {
          throw new Error('ours');
        }),
    ],
    [
      'a handler that fails after it',
      () =>
        install(({ proceed }) => {
          proceed();
          throw new Error('ours');
        }),
    ],
  ])('with %s is the method itself, called once', (_title, prepare) => {
    prepare();
    calls.length = 0;
    expect(wrapped('a', 'b')).toBe(2);
    expect(calls).toEqual([['a', 'b']]);
  });

  it('lets the errors of the method through as they are', () => {
    install(({ proceed }) => proceed());
    expect(() => wrapped('throw')).toThrow('of the SDK');
    expect(failures).toEqual([]);
  });

  it('keeps name and length', () => {
    expect([wrapped.name, wrapped.length]).toEqual(['add', 0]);
  });
});
