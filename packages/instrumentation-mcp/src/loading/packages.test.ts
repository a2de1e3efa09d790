import { createRequire } from 'node:module';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { PACKAGE_NAME, PACKAGE_VERSION } from '../version.js';
import { HOOK_INCLUDE, SDK_PACKAGES, isSupported } from './packages.js';

const require = createRequire(import.meta.url);

function folderOf(name: string): string | undefined {
  for (const base of require.resolve.paths(name) ?? []) {
    if (existsSync(join(base, name, 'package.json'))) return join(base, name);
  }
  return undefined;
}

describe.each(SDK_PACKAGES)('$name', (sdk) => {
  const folder = folderOf(sdk.name) ?? '';

  it.each(sdk.entries)('ships $esm and $cjs', ({ esm, cjs }) => {
    expect(existsSync(join(folder, esm))).toBe(true);
    expect(existsSync(join(folder, cjs))).toBe(true);
  });

  it.each(sdk.entries)('passes $esm to the loader hook', ({ esm }) => {
    expect(HOOK_INCLUDE.test(pathToFileURL(join(folder, esm)).href)).toBe(true);
  });

  it('is installed in a supported version', () => {
    const version: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
    expect(isSupported(sdk, String(version))).toBe(true);
  });
});

it.each([
  { name: '@modelcontextprotocol/sdk', version: '1.9.9', expected: false },
  { name: '@modelcontextprotocol/sdk', version: '1.10.0', expected: true },
  { name: '@modelcontextprotocol/sdk', version: '2.0.0', expected: false },
  { name: '@modelcontextprotocol/client', version: '2.0.0', expected: true },
  { name: '@modelcontextprotocol/client', version: '3.0.0', expected: false },
  { name: '@modelcontextprotocol/client', version: undefined, expected: false },
  { name: '@modelcontextprotocol/client', version: 'workspace', expected: false },
])('$name $version is supported: $expected', ({ name, version, expected }) => {
  const sdk = SDK_PACKAGES.find((candidate) => candidate.name === name);
  expect(sdk !== undefined && isSupported(sdk, version)).toBe(expected);
});

it('leaves other packages of the same scope to themselves', () => {
  expect(HOOK_INCLUDE.test('file:///app/node_modules/@modelcontextprotocol/inspector/cli.js')).toBe(false);
});

it('names its instrumentation scope as package.json does', () => {
  const manifest: unknown = JSON.parse(
    readFileSync(join(dirname(import.meta.dirname), '..', 'package.json'), 'utf8'),
  );
  expect(manifest).toMatchObject({ name: PACKAGE_NAME, version: PACKAGE_VERSION });
});
