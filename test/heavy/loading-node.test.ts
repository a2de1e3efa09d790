import { ATTR_CALL_ID } from '@waybill/core';
import { describe, expect, it } from 'vitest';
import { fixture, fixtureUrl, observe, pairOf } from '../loading/harness.js';

const REGISTER = ['--import', import.meta.resolve('@waybill/instrumentation-mcp/register')];
const WAYS = [
  { way: 'NodeSDK', args: ['--import', fixtureUrl('otel.mjs')], endings: ['mjs', 'cjs'] },
  { way: 'register', args: [...REGISTER, '--import', fixtureUrl('sdk-only.mjs')], endings: ['mjs', 'cjs'] },
  { way: '--require', args: ['--require', fixture('otel.cjs')], endings: ['cjs'] },
];
const PROGRAMS = ['v1-memory', 'v1-http', 'v2-memory', 'v2-http'];

// 22 and later run synchronous hooks, 26 deprecates the asynchronous ones.
describe.each(['22', '24', '26'])('on Node %s', (version) => {
  const cases = WAYS.flatMap(({ way, args, endings }) =>
    PROGRAMS.flatMap((program) => endings.map((ending) => ({ way, args, program: `${program}.${ending}` }))),
  );
  it.each(cases)(
    '$program registered by $way is one trace, with nothing on stderr',
    async ({ args, program }) => {
      const { run, spans } = await observe([...args, fixture(program)], {
        command: ['npx', '-y', '-p', `node@${version}`, 'node'],
        timeoutMs: 120_000,
      });
      expect(run).toMatchObject({ code: 0, stderr: '' });
      const { client, server } = pairOf(spans, 'greet');
      expect(server).toMatchObject({ traceId: client.traceId, parentSpanId: client.spanId });
      expect(server.attributes[ATTR_CALL_ID]).toBe(client.attributes[ATTR_CALL_ID]);
    },
  );
});
