import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findApplication } from './application.js';

let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'waybill-app-')));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

function file(path: string, content = ''): string {
  const full = join(root, path);
  mkdirSync(join(full, '..'), { recursive: true });
  writeFileSync(full, content);
  return full;
}

function manifest(folder: string, fields: Readonly<Record<string, unknown>>): void {
  file(join(folder, 'package.json'), JSON.stringify(fields));
}

describe('the application is found from its main module', () => {
  it.each([
    { main: 'a.mjs', type: undefined, content: '', format: 'esm' },
    { main: 'a.cjs', type: 'module', content: '', format: 'cjs' },
    { main: 'a.js', type: 'module', content: '', format: 'esm' },
    { main: 'a.js', type: 'commonjs', content: 'import x from "x";', format: 'cjs' },
    { main: 'a.js', type: undefined, content: "const x = require('x');", format: 'cjs' },
    { main: 'a.js', type: undefined, content: "import x from 'x';", format: 'esm' },
  ])('$main under type $type is $format', ({ main, type, content, format }) => {
    manifest('.', { name: 'app', type });
    const application = findApplication(file(`src/${main}`, content));
    expect(application).toMatchObject({ format, root, main: join(root, 'src', main) });
  });

  it('skips a manifest without a name, which only marks the format of a subtree', () => {
    manifest('.', { name: 'app', type: 'module' });
    manifest('dist/cjs', { type: 'commonjs' });
    expect(findApplication(file('dist/cjs/main.js'))).toMatchObject({ root, format: 'cjs' });
  });

  it('completes a path given without its ending', () => {
    manifest('.', { name: 'app', type: 'module' });
    file('server.js');
    expect(findApplication(join(root, 'server')).main).toBe(join(root, 'server.js'));
  });

  it('survives a main module that does not exist', () => {
    expect(findApplication(join(root, 'nothing-here'))).toMatchObject({ main: undefined });
  });
});
