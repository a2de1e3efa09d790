import { expect, it } from 'vitest';
import { rawSpan } from './raw-span.js';

const field = (number: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([number * 8 + 2, body.length]), body]);
};
const key = field(1, Buffer.from('waybill.call.id'));
const value = field(2, field(1, Buffer.from('c-1')));
const name = field(5, Buffer.from('tools/call a'));

it.each([
  ['the key first, as SDKs write it', Buffer.concat([name, field(9, key, value)])],
  ['the value first, as the Collector 0.161 writes it', Buffer.concat([field(9, value, key), name])],
])('an attribute is known by its key: %s', (_name, bytes) => {
  const span = rawSpan(bytes, 0, bytes.length, undefined, undefined);
  const keys: string[] = [];
  expect(span.hasKey((each) => (keys.push(each), false))).toBe(false);
  expect(keys).toEqual(['waybill.call.id']);
  expect(span.hasKey((each) => each === 'waybill.call.id')).toBe(true);
  expect(span.name()).toBe('tools/call a');
});
