import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { unpackWithin } from './body.js';
import { Budget } from './budget.js';

test('never more is taken than there is, and whoever waits is served in order', async () => {
  const budget = new Budget(10);
  const served: string[] = [];
  const ask = async (name: string, bytes: number): Promise<void> => {
    await budget.take(bytes);
    served.push(name);
  };
  const all = [ask('first', 6), ask('large', 8), ask('small', 1)];
  await Promise.resolve();
  expect(served).toEqual(['first']);
  budget.give(6);
  await Promise.all(all);
  expect(served).toEqual(['first', 'large', 'small']);
});

test('who asks for more than there is takes all of it', async () => {
  const budget = new Budget(10);
  expect(await budget.take(1000)).toBe(10);
  let served = false;
  const next = budget.take(1).then(() => (served = true));
  await Promise.resolve();
  expect(served).toBe(false);
  budget.give(10);
  await next;
});

const MEBIBYTE = 1 << 20;

test('bodies that unpack to far more than they are come one at a time', async () => {
  const limit = 8 * MEBIBYTE;
  const budget = new Budget(limit);
  const bomb = gzipSync(Buffer.alloc(limit - 1));
  let open = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 6 }, async () => {
      const { unpacked, release } = await unpackWithin(bomb, 'gzip', limit, budget);
      expect(unpacked.kind).toBe('body');
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setTimeout(resolve, 5));
      open -= 1;
      release();
    }),
  );
  expect(most).toBe(1);
});

test('ordinary bodies are unpacked beside each other and hold no more than their length', async () => {
  const budget = new Budget(4 * MEBIBYTE);
  const body = gzipSync(Buffer.from('x'.repeat(1000)));
  const held = [];
  for (let index = 0; index < 50; index += 1) held.push(await unpackWithin(body, 'gzip', MEBIBYTE, budget));
  expect(held.map(({ unpacked }) => unpacked.kind)).toEqual(Array.from({ length: 50 }, () => 'body'));
  for (const { release } of held) release();
  expect(await budget.take(4 * MEBIBYTE)).toBe(4 * MEBIBYTE);
});

test('what is over the limit or no gzip holds nothing', async () => {
  const budget = new Budget(2 * MEBIBYTE);
  const large = await unpackWithin(gzipSync(Buffer.alloc(3 * MEBIBYTE)), 'gzip', 2 * MEBIBYTE, budget);
  expect(large.unpacked).toMatchObject({ kind: 'unreadable', reason: expect.stringContaining('2097152') });
  const broken = await unpackWithin(Buffer.from('no'), 'gzip', 2 * MEBIBYTE, budget);
  expect(broken.unpacked).toEqual({ kind: 'unreadable', reason: 'not gzip' });
  expect(await budget.take(2 * MEBIBYTE)).toBe(2 * MEBIBYTE);
});
