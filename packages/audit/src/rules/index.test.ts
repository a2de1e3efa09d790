import { existsSync, readdirSync } from 'node:fs';
import { RULES } from '@waybill/core';
import { expect, test } from 'vitest';
import { builtinRules } from './index.js';

const ids = builtinRules.map((rule) => rule.meta.id);
const here = new URL('./', import.meta.url);
const pages = new URL('../../../../docs/rules/', import.meta.url);

test('every rule of the vocabulary exists once, at its level', () => {
  expect([...ids].sort()).toEqual(Object.keys(RULES).sort());
  expect(Object.fromEntries(builtinRules.map((rule) => [rule.meta.id, rule.meta.defaultLevel]))).toEqual(
    RULES,
  );
});

test.each(ids)('%s has its file, its test and its page', (id) => {
  expect(existsSync(new URL(`${id}.ts`, here))).toBe(true);
  expect(existsSync(new URL(`${id}.test.ts`, here))).toBe(true);
  expect(existsSync(new URL(`${id}.md`, pages))).toBe(true);
});

test('no page is of a rule that does not exist', () => {
  const found = readdirSync(pages).filter((name) => name.endsWith('.md') && name !== 'README.md');
  expect(found.map((name) => name.replace(/\.md$/, '')).sort()).toEqual([...ids].sort());
});
