import { beforeAll, describe, expect, it } from 'vitest';
import { install, nodeOf } from '../programs/install.js';
import { FOLDER, clientLeg, serverLeg } from './suite.js';
import type { Leg } from './suite.js';

const SCENARIOS = [
  'initialize',
  'tools_call',
  'sse-retry',
  'elicitation-sep1034-client-defaults',
  'auth/metadata-default',
  'auth/metadata-var1',
  'auth/metadata-var2',
  'auth/metadata-var3',
  'auth/basic-cimd',
  'auth/scope-from-www-authenticate',
  'auth/scope-from-scopes-supported',
  'auth/scope-omitted-when-undefined',
  'auth/scope-step-up',
  'auth/scope-retry-limit',
  'auth/token-endpoint-auth-basic',
  'auth/token-endpoint-auth-post',
  'auth/token-endpoint-auth-none',
];

let otel: string;
let node: string;
beforeAll(async () => {
  otel = await install(FOLDER);
  node = await nodeOf(24);
});

/** The same verdict on the subject with the plugin, which saw it at work, as without. */
function expectEqual(name: string, on: Leg, off: Leg, side: 'client' | 'server'): void {
  expect(on.scenarios).toEqual(off.scenarios);
  expect(off.spans).toEqual([]);
  expect(on.spans.filter(({ kind }) => kind === side).length).toBeGreaterThan(0);
  process.stdout.write(`${name}: ${off.passed} passed, ${off.failed} failed, the same with the plugin\n`);
}

describe.each([
  { version: '0.1.16', subject: 'SDK 1.32.2', server: ['server-v1.mjs'], args: ['--suite', 'active'] },
  { version: '0.1.16', subject: 'SDK 2.4.0', server: ['server-v2.mjs'], args: ['--suite', 'active'] },
  {
    version: '0.2.0-alpha.12',
    subject: 'SDK 2.4.0, stateless,',
    server: ['server-v2.mjs', 'modern'],
    args: ['--requirements', '2026-07-28'],
  },
] as const)('suite $version', ({ version, subject, server, args }) => {
  it(`server on ${subject} ${args.join(' ')}: checks equal with the plugin and without`, async () => {
    const off = await serverLeg({ version, node }, server, args, undefined);
    const on = await serverLeg({ version, node }, server, args, otel);
    expectEqual(`${version} server ${subject}`, on, off, 'server');
    if (version === '0.1.16') expect(off.failed).toBe(0);
  });
});

describe.each([
  { subject: 'SDK 1.32.2', client: 'client-v1.mjs' },
  { subject: 'SDK 2.4.0', client: 'client-v2.mjs' },
])('suite 0.1.16, client on $subject', ({ subject, client }) => {
  it.each(SCENARIOS)('%s: checks equal with the plugin and without', async (scenario) => {
    const suite = { version: '0.1.16', node } as const;
    const off = await clientLeg(suite, client, scenario, undefined);
    const on = await clientLeg(suite, client, scenario, otel);
    expectEqual(`0.1.16 client ${subject} ${scenario}`, on, off, 'client');
    expect(off.failed).toBe(0);
  });
});
