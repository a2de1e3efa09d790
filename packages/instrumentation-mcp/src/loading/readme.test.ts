import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { HOOKS } from '../patch/hooks.js';
import { SDK_PACKAGES } from './packages.js';
import * as warnings from './warnings.js';

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const PATCHED = README.split('## What is patched')[1]?.split('\n## ')[0] ?? '';

it.each(HOOKS)('the README names $point among what is patched', ({ class: owner, method }) => {
  const line = PATCHED.split(/;|\n- /).find((part) =>
    part.trim().replace(/^- /, '').startsWith(`\`${owner}\``),
  );
  expect(line).toContain(`\`${method}\``);
});

it.each(SDK_PACKAGES)('the README states the supported versions of $name', ({ name, supported }) => {
  const row = README.split('\n').find((line) => line.startsWith('|') && line.includes(`\`${name}\``));
  expect(row).toContain(`\`${supported}\``);
});

it.each([warnings.NOT_PATCHED, warnings.NO_SDK, warnings.CONFIG])('the README explains %s', (code) => {
  expect(README).toContain(`| \`${code}\``);
});
