import { expect, test } from 'vitest';
import { mayRead } from './host.js';

test.each([
  ['127.0.0.1:4318', '127.0.0.1', true],
  ['localhost:4318', '127.0.0.1', true],
  ['LOCALHOST', 'localhost', true],
  ['waybill.localhost:4318', '127.0.0.1', true],
  ['[::1]:4318', '::1', true],
  ['192.168.1.5:4318', '127.0.0.1', true],
  [undefined, '127.0.0.1', true],
  ['evil.example:4318', '127.0.0.1', false],
  ['evil.example', '::1', false],
  ['127.0.0.1.evil.example', '127.0.0.1', false],
  ['localhost.evil.example', 'localhost', false],
  ['', '127.0.0.1', false],
  ['waybill:4318', '0.0.0.0', true],
  ['waybill:4318', '10.0.0.7', true],
])('host %j at a receiver on %s may read: %s', (header, listening, may) => {
  expect(mayRead(header, listening)).toBe(may);
});
