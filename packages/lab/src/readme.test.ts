import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('the example of the README runs and prints what the README says', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const example = /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', example], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
  });
  const promised = [...readme.matchAll(/^It prints `(.*?)` and `(.*?)`/gm)][0]?.slice(1);
  expect(stdout.trimEnd().split('\n')).toEqual(promised);
});
