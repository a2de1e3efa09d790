import { expect, it } from 'vitest';
import { tapStream } from './stream-tap.js';

const observed = () => {
  const seen: string[] = [];
  const observer = {
    chunk: (chunk: Uint8Array) => void seen.push(`${chunk.length} bytes`),
    end: (how: string) => void seen.push(how),
  };
  return { seen, observer };
};
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

it('a stream that is cancelled while its next chunk is awaited has one end', async () => {
  const { seen, observer } = observed();
  let reason: unknown;
  const source = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Uint8Array.of(1, 2)),
    cancel: (given) => {
      reason = given;
    },
  });
  const reader = tapStream(source, observer).getReader();
  await reader.read();
  const waiting = reader.read();
  await turn();
  await reader.cancel('enough');
  expect(await waiting).toEqual({ done: true, value: undefined });
  await turn();
  expect(seen).toEqual(['2 bytes', 'aborted']);
  expect(reason).toBe('enough');
});

it('the error of a stream is the very same behind the tap', async () => {
  const { seen, observer } = observed();
  const error = new TypeError('terminated');
  const source = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(error) });
  await expect(tapStream(source, observer).getReader().read()).rejects.toBe(error);
  expect(seen).toEqual(['reset']);
});
