import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findApplication } from './application.js';
import { findSdkCopies } from './dependency-tree.js';

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

describe('the copies of the SDK are those of the dependency tree', () => {
  const sdk = '@modelcontextprotocol/sdk';

  it('finds none and reads no tree where no SDK is installed', () => {
    manifest('.', { name: 'app', dependencies: { a: '1' } });
    manifest('node_modules/a', { name: 'a' });
    expect(findSdkCopies(findApplication(file('main.mjs')))).toEqual([]);
  });

  it('ignores an SDK that lies beside a tool which does not depend on it', () => {
    manifest(`node_modules/${sdk}`, { name: sdk, version: '1.32.2' });
    manifest('node_modules/compiler', { name: 'compiler', dependencies: {} });
    expect(findSdkCopies(findApplication(file('node_modules/compiler/main.mjs')))).toEqual([]);
  });

  it('finds a hoisted and a nested copy with their versions', () => {
    manifest('.', { name: 'app', type: 'module', dependencies: { [sdk]: '1', agent: '1' } });
    manifest(`node_modules/${sdk}`, { name: sdk, version: '1.32.2' });
    manifest('node_modules/agent', { name: 'agent', type: 'module', dependencies: { [sdk]: '1.20' } });
    manifest(`node_modules/agent/node_modules/${sdk}`, { name: sdk, version: '1.20.2' });
    const copies = findSdkCopies(findApplication(file('main.js')));
    expect(copies.map(({ folder, version }) => [folder.slice(root.length), version])).toEqual([
      [`/node_modules/${sdk}`, '1.32.2'],
      [`/node_modules/agent/node_modules/${sdk}`, '1.20.2'],
    ]);
  });

  it.each([
    { dependent: 'module', importedByEsm: true },
    { dependent: 'commonjs', importedByEsm: false },
  ])(
    'a CommonJS program reaches it through a $dependent package: $importedByEsm',
    ({ dependent, importedByEsm }) => {
      manifest('.', { name: 'app', dependencies: { agent: '1' } });
      manifest('node_modules/agent', { name: 'agent', type: dependent, dependencies: { [sdk]: '1' } });
      manifest(`node_modules/${sdk}`, { name: sdk, version: '1.32.2' });
      expect(findSdkCopies(findApplication(file('main.js')))).toMatchObject([{ importedByEsm }]);
    },
  );

  it('ends on dependencies that depend on each other', () => {
    manifest('.', { name: 'app', dependencies: { a: '1' } });
    manifest('node_modules/a', { name: 'a', dependencies: { b: '1' } });
    manifest('node_modules/b', { name: 'b', dependencies: { a: '1', '@modelcontextprotocol/client': '2' } });
    manifest('node_modules/@modelcontextprotocol/client', {
      name: '@modelcontextprotocol/client',
      version: '2.4.0',
    });
    expect(findSdkCopies(findApplication(file('main.mjs')))).toHaveLength(1);
  });

  it('takes what lies beside a script that has no package.json at all', () => {
    manifest(`node_modules/${sdk}`, { name: sdk, version: '1.32.2' });
    expect(findSdkCopies(findApplication(file('script.mjs')))).toMatchObject([
      { version: '1.32.2', importedByEsm: true },
    ]);
  });

  it('survives a damaged manifest', () => {
    manifest('.', { name: 'app', dependencies: { broken: '1', [sdk]: '1' } });
    file('node_modules/broken/package.json', '{ not json');
    manifest(`node_modules/${sdk}`, { name: sdk, version: '1.32.2' });
    expect(findSdkCopies(findApplication(file('main.mjs')))).toHaveLength(1);
  });
});
