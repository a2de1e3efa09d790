import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { VERDICTS } from '@waybill/core';
import { describe, expect, test } from 'vitest';
import { run } from '../cli/cli.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(`${root}docs/verdicts.md`, 'utf8');

/** The section of a verdict: from its heading to the next one. */
function sectionOf(verdict: string): string {
  return page.split(/^## /m).find((section) => section.startsWith(`${verdict}\n`)) ?? '';
}

describe('the example of every verdict in docs/verdicts.md', () => {
  test.each(VERDICTS.map(({ verdict }) => verdict))(
    '%s can be pasted and is what the audit says',
    async (verdict) => {
      const section = sectionOf(verdict);
      const command = /```sh\n([^]*?)```/.exec(section)?.[1]?.replaceAll('\\\n', ' ').trim() ?? '';
      expect(command).toMatch(/^npx waybill audit docs\/verdicts\/examples\//);
      const ended = await run([...command.split(/\s+/).slice(2), '--format', 'json'], { cwd: root });
      const report: {
        readonly operations: readonly { readonly verdict: string; readonly action: string }[];
      } = JSON.parse(ended.stdout);
      const action = /Action here: `(\w+)`/.exec(section)?.[1];
      expect(report.operations.map((each) => [each.verdict, each.action])).toEqual([[verdict, action]]);
    },
  );
});
