/** Where bytes come from and how they are unpacked. */
import { readSync, writeSync } from 'node:fs';
import { Readable } from 'node:stream';
import zlib from 'node:zlib';
import { Decompress } from 'fzstd';

export type Chunks = AsyncIterable<Uint8Array>;

const CHUNK_BYTES = 1 << 18;

/** The rest of an open file, by synchronous reads: a stream costs five times the CPU (measured on Node 24). */
export async function* chunksOfFile(fd: number): Chunks {
  for (;;) {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    const length = readSync(fd, buffer, 0, buffer.length, null);
    if (length === 0) return;
    yield await Promise.resolve(buffer.subarray(0, length));
  }
}

export async function* chunksOfBytes(bytes: Uint8Array): Chunks {
  if (bytes.length > 0) yield await Promise.resolve(bytes);
}

/** Passes chunks on and counts their bytes. */
export async function* counted(chunks: Chunks, count: (bytes: number) => void): Chunks {
  for await (const chunk of chunks) {
    count(chunk.length);
    yield chunk;
  }
}

/** Passes chunks on and writes them to a file. */
export async function* copied(chunks: Chunks, fd: number): Chunks {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) at += writeSync(fd, chunk, at);
    yield chunk;
  }
}

/** Reads until at least `bytes` are there or the input ends; the chunks that follow come after the head. */
export async function takeHead(
  chunks: Chunks,
  bytes: number,
): Promise<{ readonly head: Buffer; readonly all: Chunks }> {
  const iterator = chunks[Symbol.asyncIterator]();
  const parts: Uint8Array[] = [];
  let length = 0;
  let done = false;
  while (length < bytes && !done) {
    const next = await iterator.next();
    if (next.done === true) done = true;
    else {
      parts.push(next.value);
      length += next.value.length;
    }
  }
  const head = parts.length === 1 ? Buffer.from(parts[0] ?? []) : Buffer.concat(parts);
  return { head, all: withHead(head, iterator, done) };
}

async function* withHead(head: Buffer, rest: AsyncIterator<Uint8Array>, done: boolean): Chunks {
  try {
    if (head.length > 0) yield head;
    if (done) return;
    for (;;) {
      const next = await rest.next();
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await rest.return?.();
  }
}

/** Unpacked bytes have grown beyond what an honest export reaches. */
export class InflateLimitError extends Error {}

/** All members of a gzip file. Throws where the data breaks off or is damaged, after all before it was yielded. */
export async function* gunzip(chunks: Chunks, maxRatio: number): Chunks {
  yield* inflate(chunks, zlib.createGunzip({ chunkSize: CHUNK_BYTES }), maxRatio);
}

type ZstdFactory = (options?: object) => NodeJS.ReadWriteStream;

/** Node has zstd from 22.15 and 23.8. */
const createZstdDecompress = (zlib as { createZstdDecompress?: ZstdFactory }).createZstdDecompress;

/** All frames of a zstd file; errors as `gunzip`. */
export async function* unzstd(chunks: Chunks, maxRatio: number): Chunks {
  if (createZstdDecompress !== undefined) {
    yield* inflate(chunks, createZstdDecompress({ chunkSize: CHUNK_BYTES }), maxRatio);
    return;
  }
  const ready: Uint8Array[] = [];
  const unpack = new Decompress((data) => {
    // The library goes on using its window.
    if (data.length > 0) ready.push(Uint8Array.from(data));
  });
  const guard = new InflateGuard(maxRatio);
  for await (const chunk of chunks) {
    guard.packed += chunk.length;
    unpack.push(chunk);
    for (const data of ready.splice(0)) yield guard.pass(data);
  }
  unpack.push(new Uint8Array(0), true);
  for (const data of ready.splice(0)) yield guard.pass(data);
}

type ZstdSync = (bytes: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;
const zstdDecompressSync = (zlib as { zstdDecompressSync?: ZstdSync }).zstdDecompressSync;

/** One message that was packed on its own; undefined when it is damaged or unpacks to more than the limit. */
export function unzstdWhole(bytes: Uint8Array, limit: number): Uint8Array | undefined {
  try {
    if (zstdDecompressSync !== undefined) return zstdDecompressSync(bytes, { maxOutputLength: limit });
    const parts: Uint8Array[] = [];
    let length = 0;
    const unpack = new Decompress((data) => {
      length += data.length;
      if (length > limit) throw new InflateLimitError(`unpacks to more than ${limit} bytes`);
      parts.push(Uint8Array.from(data));
    });
    unpack.push(bytes, true);
    return Buffer.concat(parts);
  } catch {
    return undefined;
  }
}

async function* inflate(chunks: Chunks, stream: NodeJS.ReadWriteStream, maxRatio: number): Chunks {
  const guard = new InflateGuard(maxRatio);
  const packed = Readable.from(
    counted(chunks, (bytes) => {
      guard.packed += bytes;
    }),
    { objectMode: false },
  );
  packed.on('error', (error) => {
    (stream as unknown as Readable).destroy(error);
  });
  packed.pipe(stream);
  for await (const data of stream as unknown as AsyncIterable<Buffer>) yield guard.pass(data);
}

/** Below this an extreme ratio harms nobody. */
const UNGUARDED_BYTES = 64 << 20;

class InflateGuard {
  packed = 0;
  private unpacked = 0;
  private readonly maxRatio: number;

  constructor(maxRatio: number) {
    this.maxRatio = maxRatio;
  }

  pass<T extends Uint8Array>(data: T): T {
    this.unpacked += data.length;
    if (this.unpacked > UNGUARDED_BYTES && this.unpacked > this.packed * this.maxRatio) {
      throw new InflateLimitError(`unpacks to more than ${this.maxRatio} times its size`);
    }
    return data;
  }
}

/** UTF-16 to UTF-8, for exports that a shell redirected. */
export async function* utf8OfUtf16(chunks: Chunks, encoding: 'utf-16le' | 'utf-16be'): Chunks {
  const decoder = new TextDecoder(encoding);
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    if (text !== '') yield Buffer.from(text);
  }
  const rest = decoder.decode();
  if (rest !== '') yield Buffer.from(rest);
}
