import { ATTR_ARGS_DIGEST } from '@waybill/core';
import { describe, expect, test } from 'vitest';
import { createEngine } from './engine.js';
import { defineRule, type Rule } from './rule.js';
import { buildCall, buildOperation } from './testing/builder.js';

function runRule(id: string, runAttribute?: string): Rule {
  return defineRule({
    meta: {
      id,
      defaultLevel: 'warning',
      description: 'looks at runs',
      messages: {},
      ...(runAttribute === undefined ? {} : { on: { runAttribute } }),
      defaultOptions: undefined,
    },
    create: () => ({ run: () => undefined }),
  });
}

const engineOf = (...rules: readonly Rule[]): ReturnType<typeof createEngine> =>
  createEngine({ rules, config: {}, asOfUnixNano: 0n, graceNano: 0n, available: new Set(), own: [] });

const plain = buildOperation({});
const onClient = buildOperation({
  calls: [buildCall({ client: { attributes: { [ATTR_ARGS_DIGEST]: 'd' } } })],
});
const onServer = buildOperation({
  calls: [buildCall({ server: { attributes: { [ATTR_ARGS_DIGEST]: 'd' } } })],
});

describe('whose runs are visited', () => {
  const digests = runRule('test/digests', ATTR_ARGS_DIGEST);
  test.each([
    ['no rule looks at runs', engineOf(), onClient, false],
    ['the attribute is on no side', engineOf(digests), plain, false],
    ['the attribute is on the client side', engineOf(digests), onClient, true],
    ['the attribute is on the server side', engineOf(digests), onServer, true],
    ['another rule looks at every run', engineOf(digests, runRule('test/all')), plain, true],
  ])('%s', (_, engine, operation, wanted) => {
    expect(engine.wantsRunOf(operation)).toBe(wanted);
  });
});
