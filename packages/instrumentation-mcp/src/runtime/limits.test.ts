import { expect, it } from 'vitest';
import { bareUri, capped, wordOf } from './limits.js';

it.each([
  ['https://u:p@host:1/a/b?token=1#frag', 'https://host:1/a/b'],
  ['file:///a@b/c', 'file:///a@b/c'],
  ['test://static/text', 'test://static/text'],
  ['data:text/plain,secret', 'data:'],
  ['memo#x', 'memo'],
  ['', ''],
])('the URI %s stands as %s', (uri, expected) => {
  expect(bareUri(uri)).toBe(expected);
});

it('a word of a peer is cut', () => {
  expect([capped('x'.repeat(5000)).length, bareUri('x'.repeat(5000)).length]).toEqual([200, 1000]);
});

it.each([
  ['ECONNREFUSED', 'ECONNREFUSED'],
  ['my user said this', undefined],
  ['', undefined],
  [7, undefined],
])('%j is %j as the code of an error', (value, expected) => {
  expect(wordOf(value)).toBe(expected);
});
