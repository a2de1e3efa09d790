import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { run } from './cli.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pages = readdirSync(`${root}docs/rules`).filter((name) => name.endsWith('.md') && name !== 'README.md');

/** The blocks of one language in a page, without their fences. */
function blocks(page: string, language: string): readonly string[] {
  return [...page.matchAll(new RegExp('```' + language + '\\n([^]*?)```', 'g'))].map((match) =>
    (match[1] ?? '').trim(),
  );
}

describe('the example of every rule page', () => {
  // The one rule without evidence of its own yet: it needs a ledger.
  const ready = pages.filter((name) => name !== 'ledger-inconsistent.md');

  test.each(ready)('%s can be pasted and says what it shows', async (name) => {
    const page = readFileSync(`${root}docs/rules/${name}`, 'utf8');
    const [command] = blocks(page, 'sh');
    const [message] = blocks(page, 'text');
    expect(command).toMatch(/^npx waybill audit docs\/rules\/examples\//);
    const args = (command ?? '').split(/\s+/).slice(2);
    const ended = await run([...args, '--format', 'json'], { cwd: root });
    const rule = name.replace(/\.md$/, '');
    const report: { readonly findings: readonly { readonly rule: string; readonly message: string }[] } =
      JSON.parse(ended.stdout);
    expect(
      report.findings.filter((finding) => finding.rule === rule).map((finding) => finding.message),
    ).toContain(message);
  });
});
