import * as client from '@modelcontextprotocol/client';
import * as protocol from '@modelcontextprotocol/sdk/shared/protocol.js';
import * as inMemory from '@modelcontextprotocol/sdk/inMemory.js';
import { beforeEach, expect, it } from 'vitest';
import { instrumentModules, patchModule, patchReport } from './patches.js';
import { loadingState } from './state.js';

const TARGET = { module: 'given-client', version: '2.4.0', format: 'esm' } as const;

beforeEach(() => {
  const state = loadingState();
  state.patched.length = 0;
  state.unpatchable.length = 0;
});

it('reports modules that were handed over under the names they were given', () => {
  const report = instrumentModules({ v2: client, v1: protocol });
  expect(report.patched).toEqual([
    { module: 'v2', version: undefined, format: 'given', missing: [] },
    { module: 'v1', version: undefined, format: 'given', missing: [] },
  ]);
  expect(patchReport()).toEqual(report);
});

it('reports a module once, however often and in whatever wrapping it is found', () => {
  patchModule(client, TARGET, true);
  patchModule({ ...client }, TARGET, true);
  expect(patchReport().patched).toHaveLength(1);
});

it('leaves a module without anything to patch out of the report', () => {
  patchModule(inMemory, { ...TARGET, module: 'memory' }, false);
  expect(patchReport().patched).toEqual([]);
  expect(loadingState().unpatchable).toEqual([]);
});

it('remembers an essential module in which nothing could be patched', () => {
  patchModule({ Protocol: Error }, TARGET, true);
  expect(patchReport().patched).toEqual([]);
  expect(loadingState().unpatchable).toEqual(['given-client 2.4.0 (esm)']);
});

it.each([
  {
    what: 'a hostile namespace',
    value: new Proxy(
      {},
      {
        get: () => {
          throw new Error('no');
        },
        ownKeys: () => {
          throw new Error('no');
        },
      },
    ),
  },
  { what: 'an empty object', value: {} },
  { what: 'a frozen object', value: Object.freeze({ Client: undefined }) },
])('survives $what', ({ value }) => {
  expect(() => instrumentModules({ value })).not.toThrow();
});

it('gives a report that the caller may change', () => {
  const { patched } = instrumentModules({ fresh: client });
  (patched as unknown[]).pop();
  expect(patchReport().patched).toHaveLength(1);
});
