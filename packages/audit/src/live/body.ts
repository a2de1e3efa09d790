/** Request bodies: read up to a limit, unpacked up to a limit. */
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { Decompress } from 'fzstd';
import type { Budget } from './budget.js';

export type Unpacked =
  | { readonly kind: 'body'; readonly body: Buffer }
  | { readonly kind: 'unreadable'; readonly reason: string; readonly tooLarge?: true };

type Unpack = (body: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

const zstdOfNode = (zlib as unknown as Readonly<Record<string, unknown>>)['zstdDecompress'];

/** Codings of RFC 9110, section 8.4.1, and zstd (RFC 8878), which Collectors send too. */
const UNPACKERS: Readonly<Record<string, Unpack>> = {
  gzip: promisify(zlib.gunzip) as Unpack,
  'x-gzip': promisify(zlib.gunzip) as Unpack,
  deflate: promisify(zlib.inflate) as Unpack,
  br: promisify(zlib.brotliDecompress) as Unpack,
  // Node has it from 22.15.
  zstd:
    typeof zstdOfNode === 'function'
      ? (promisify(zstdOfNode as typeof zlib.gunzip) as Unpack)
      : (body, { maxOutputLength }) => Promise.resolve(unzstd(body, maxOutputLength)),
};

class TooLargeError extends Error {}

function unzstd(body: Buffer, limit: number): Buffer {
  const parts: Uint8Array[] = [];
  let length = 0;
  const unpack = new Decompress((data) => {
    length += data.length;
    if (length > limit) throw new TooLargeError();
    parts.push(Uint8Array.from(data));
  });
  unpack.push(body, true);
  return Buffer.concat(parts);
}

/** The body without its content coding. Never throws for what a sender sent. */
export async function unpack(body: Buffer, coding: string | undefined, limit: number): Promise<Unpacked> {
  const names = (coding ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  let current = body;
  // Codings are listed in the order in which they were applied.
  for (const name of names.reverse()) {
    const unpacker = Object.hasOwn(UNPACKERS, name) ? UNPACKERS[name] : undefined;
    if (unpacker === undefined) return { kind: 'unreadable', reason: 'an unknown content coding' };
    try {
      current = await unpacker(current, { maxOutputLength: limit });
    } catch (error) {
      const tooLarge =
        error instanceof TooLargeError || (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
      return {
        kind: 'unreadable',
        ...(tooLarge
          ? { reason: `a body that unpacks to more than ${limit} bytes`, tooLarge }
          : { reason: `not ${name}` }),
      };
    }
  }
  return { kind: 'body', body: current };
}

/** Telemetry unpacks to some ten times its length; only what goes far beyond waits for the whole budget. */
const USUAL_RATIO = 32;
const USUAL_BYTES = 1 << 20;

/** `unpack` inside a budget for all bodies. `release` gives back what the unpacked body holds of it. */
export async function unpackWithin(
  body: Buffer,
  coding: string | undefined,
  limit: number,
  budget: Budget,
): Promise<{ readonly unpacked: Unpacked; readonly release: () => void }> {
  // Without a coding the body is what it was, and counted by the receiver.
  if ((coding ?? '').trim() === '') return { unpacked: await unpack(body, coding, limit), release: () => {} };
  const usual = Math.min(limit, Math.max(USUAL_BYTES, USUAL_RATIO * body.length));
  let taken = await budget.take(usual);
  let unpacked = await unpack(body, coding, usual);
  if (unpacked.kind === 'unreadable' && unpacked.tooLarge === true && usual < limit) {
    budget.give(taken);
    taken = await budget.take(limit);
    unpacked = await unpack(body, coding, limit);
  }
  const held = unpacked.kind === 'body' ? Math.min(unpacked.body.length, taken) : 0;
  budget.give(taken - held);
  return { unpacked, release: () => budget.give(held) };
}
