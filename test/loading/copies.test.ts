import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture, fixtureUrl, observe, pairOf } from './harness.js';

const SDK = '@modelcontextprotocol/sdk';
const REGISTER = import.meta.resolve('@waybill/instrumentation-mcp/register');
const BY_NODE_SDK = ['--import', fixtureUrl('otel.mjs')];
const BY_REGISTER = ['--import', REGISTER, '--import', fixtureUrl('sdk-only.mjs')];

let root: string;

// Below node_modules, so that what the copies depend on is found from there.
beforeAll(() => {
  root = mkdtempSync(fileURLToPath(new URL('../../node_modules/.waybill-copies-', import.meta.url)));
});
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});
/** A package of its own with its own copy of SDK v1, in the version that the copy claims. */
function packageWithSdk(folder: string, version: string, source: string): void {
  const original = join(dirname(fileURLToPath(import.meta.resolve(`${SDK}/shared/protocol.js`))), '../../..');
  const copy = join(folder, 'node_modules', SDK);
  mkdirSync(copy, { recursive: true });
  cpSync(join(original, 'dist/esm'), join(copy, 'dist/esm'), { recursive: true });
  const manifest: Record<string, unknown> = JSON.parse(readFileSync(join(original, 'package.json'), 'utf8'));
  writeFileSync(join(copy, 'package.json'), JSON.stringify({ ...manifest, version }));
  writeFileSync(join(folder, 'index.js'), source);
}

it.each([
  { way: 'NodeSDK', args: BY_NODE_SDK },
  { way: 'register', args: BY_REGISTER },
])(
  'a program and its dependency with an SDK each: both copies are seen, registered by $way',
  async ({ way, args }) => {
    const app = join(root, way);
    const agent = join(app, 'node_modules/agent');
    mkdirSync(agent, { recursive: true });
    const dependencies = { [SDK]: '1', agent: '1' };
    writeFileSync(join(app, 'package.json'), JSON.stringify({ name: 'app', type: 'module', dependencies }));
    writeFileSync(
      join(agent, 'package.json'),
      JSON.stringify({ name: 'agent', type: 'module', main: 'index.js', dependencies: { [SDK]: '1.29' } }),
    );
    packageWithSdk(
      agent,
      '1.29.0',
      `import { McpServer } from '${SDK}/server/mcp.js';
     export const server = new McpServer({ name: 'greeter', version: '1' });
     server.registerTool('greet', {}, () => ({ content: [] }));`,
    );
    packageWithSdk(
      app,
      '1.32.2',
      `import { Client } from '${SDK}/client/index.js';
     import { InMemoryTransport } from '${SDK}/inMemory.js';
     import { server } from 'agent';
     const client = new Client({ name: 'caller', version: '1' });
     const [near, far] = InMemoryTransport.createLinkedPair();
     await server.connect(far);
     await client.connect(near);
     await client.callTool({ name: 'greet' });
     await client.close();`,
    );

    const { run, spans, report } = await observe([...args, join(app, 'index.js')]);

    expect(run).toMatchObject({ code: 0, stderr: '' });
    const { client, server } = pairOf(spans, 'greet');
    expect(server.parentSpanId).toBe(client.spanId);
    const { patched } = report as {
      patched: { module: string; version: string }[];
    };
    const protocols = patched.filter(({ module }) => module === `${SDK}/shared/protocol.js`);
    expect(protocols.map(({ version }) => version).toSorted()).toEqual(['1.29.0', '1.32.2']);
  },
);

it('the ES module and the CommonJS copy of the plugin in one process record each call once', async () => {
  const args = [...BY_REGISTER, '--require', fixture('otel.cjs'), fixture('v1-memory.cjs')];
  const { run, spans } = await observe(args);
  expect(run.code).toBe(0);
  const { client, server } = pairOf(spans, 'greet');
  expect(server).toMatchObject({ traceId: client.traceId, parentSpanId: client.spanId });
});
