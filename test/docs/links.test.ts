import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' }).trim().split('\n');

test.each(pages)('every relative link of %s resolves', (page) => {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/```[^]*?```/g, '');
  const broken = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1]?.split('#')[0] ?? '')
    .filter((path) => path !== '' && !/^[a-z]+:/.test(path))
    .filter((path) => !existsSync(join(root, dirname(page), path)));
  expect(broken).toEqual([]);
});
