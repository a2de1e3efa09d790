/**
 * Every version of the MCP SDKs that is supported, on the lines of the OpenTelemetry SDK and of Node: one program with a
 * client and a server over each transport, with the plugin and without.
 */
import { describe, expect, it } from 'vitest';
import { nodeOf } from '../programs/install.js';
import { folderOf } from './folders.js';
import { faultsOf, faultsOfReports } from './judge.js';
import { nodeOptions, play } from './play.js';
import type { Patched } from './play.js';
import { COMBINATIONS, FORMATS } from './setups.js';
import type { Combination, Format } from './setups.js';

const CASES = COMBINATIONS.flatMap((combination) => FORMATS.map((format) => ({ combination, format }))).map(
  ({ combination, format }) => ({ combination, format, name: nameOf(combination, format) }),
);

function nameOf({ mcp, otel, node }: Combination, format: Format): string {
  const kind = format === 'esm' ? 'ES modules' : 'CommonJS';
  return `MCP SDK ${mcp.version}, OpenTelemetry ${otel.name}, Node ${node}, ${kind}`;
}

describe.concurrent(
  'one trace of each call, the outcome, the stages, and results as without the plugin',
  () => {
    it.each(CASES)('$name', async ({ combination: { mcp, otel, node }, format }) => {
      const cwd = await folderOf(mcp, otel);
      const launch = {
        cwd,
        command: [await nodeOf(node)] as const,
        program: `${mcp.line}.${format === 'esm' ? 'mjs' : 'cjs'}`,
      };
      const seen = await play({ ...launch, env: { NODE_OPTIONS: nodeOptions(cwd, format) } });
      const plain = await play(launch);
      const isMeant = ({ module, version }: Patched): boolean => version === mcp.packages[packageOf(module)];
      expect([
        ...faultsOf(seen, { degraded: {}, replies: {} }),
        ...faultsOfReports(seen.reports, format, isMeant),
      ]).toEqual([]);
      expect(seen.answers).toEqual(plain.answers);
    });
  },
);

/** `@scope/name/sub/path.js` is of `@scope/name`. */
function packageOf(module: string): string {
  return module.split('/').slice(0, 2).join('/');
}
