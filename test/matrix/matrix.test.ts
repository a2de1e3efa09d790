/**
 * Every version of the MCP SDKs that is supported, on the lines of the OpenTelemetry SDK and of Node: one program with a
 * client and a server over each transport, with the plugin and without.
 */
import { describe, expect, it } from 'vitest';
import { nodeOf } from '../programs/install.js';
import { expectInDocs } from './docs.js';
import { folderOf } from './folders.js';
import { faultsOfReports, judge, outcomeOf } from './judge.js';
import type { Known } from './judge.js';
import { nodeOptions, play } from './play.js';
import type { Answers, Patched } from './play.js';
import { COMBINATIONS, FORMATS } from './setups.js';
import type { Combination, Format, McpSdk } from './setups.js';

const CASES = COMBINATIONS.flatMap((combination) => FORMATS.map((format) => ({ combination, format })));
/** What the table shows, by set-up. */
const cells = new Map<string, string>();
const unknownTools = new Map<string, string>();

describe.concurrent(
  'one trace of each call, its outcome and stages, and results as without the plugin',
  () => {
    for (const { combination, format } of CASES) {
      it(nameOf(combination, format), async () => {
        const { mcp, otel, node } = combination;
        const cwd = await folderOf(mcp, otel);
        const launch = {
          cwd,
          command: [await nodeOf(node)] as const,
          program: `${mcp.line}.${format === 'esm' ? 'mjs' : 'cjs'}`,
        };
        const seen = await play({ ...launch, env: { NODE_OPTIONS: nodeOptions(cwd, format) } });
        const plain = await play(launch);
        const { good, made, faults } = judge(seen, knownOf(mcp));
        cells.set(nameOf(combination, format), `${good}/${made}`);
        unknownTools.set(nameOf(combination), unknownTool(seen.answers));
        const isMeant = ({ module, version }: Patched): boolean =>
          version === mcp.packages[packageOf(module)];
        expect([...faults, ...faultsOfReports(seen.reports, format, isMeant)]).toEqual([]);
        expect(seen.answers).toEqual(plain.answers);
      });
    }
  },
);

it('docs/versions.md shows what was seen', () => {
  const head = ['MCP SDK', 'OpenTelemetry SDK', 'Node', 'ES modules', 'CommonJS', 'unknown tool'];
  const rows = COMBINATIONS.map((combination) => [
    combination.mcp.version,
    combination.otel.name,
    String(combination.node),
    ...FORMATS.map((format) => cells.get(nameOf(combination, format)) ?? 'not run'),
    unknownTools.get(nameOf(combination)) ?? 'not run',
  ]);
  expectInDocs('versions', head, rows);
});

function nameOf({ mcp, otel, node }: Combination, format?: Format): string {
  const setUp = `MCP SDK ${mcp.version}, OpenTelemetry ${otel.name}, Node ${node}`;
  if (format === undefined) return setUp;
  return `${setUp}, ${format === 'esm' ? 'ES modules' : 'CommonJS'}`;
}

/** SDK 1.10 never ends an HTTP answer that is a JSON-RPC error. */
function knownOf({ version }: McpSdk): Known {
  return version.startsWith('1.10.') ? { neverEnded: ['json_unknown', 'sse_unknown'] } : {};
}

/** `@scope/name/sub/path.js` is of `@scope/name`. */
function packageOf(module: string): string {
  return module.split('/').slice(0, 2).join('/');
}

/** How this version answers a call of a tool that is not there: by transport, when not all do the same. */
function unknownTool(answers: Answers | undefined): string {
  const words = { TOOL_ERROR: 'result', JSONRPC_ERROR: 'error', TIMEOUT: 'no answer' } as Record<
    string,
    string
  >;
  const byTransport = Object.entries(answers ?? {}).map(
    ([transport, { unknown }]) => [transport, words[outcomeOf(unknown)] ?? outcomeOf(unknown)] as const,
  );
  const usual = byTransport[0]?.[1] ?? 'not run';
  const others = byTransport.filter(([, word]) => word !== usual).map((pair) => pair.join(': '));
  return [usual, ...others].join('; ');
}
