/** Reads one input, whatever it is, and tells the sink of every span, stage log and damaged place in its order. */
import { closeSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Damage, InputSummary, Sink } from '../model.js';
import { readBinary } from './binary.js';
import {
  chunksOfBytes,
  chunksOfFile,
  copied,
  counted,
  gunzip,
  takeHead,
  unzstd,
  utf8OfUtf16,
  type Chunks,
} from './bytes.js';
import { DEFAULT_LIMITS, type ReadLimits } from './limits.js';
import { Reading } from './reading.js';
import { HEAD_BYTES, sniff } from './sniff.js';
import { fetchInto } from './remote/fetch.js';
import type { RemoteOptions } from './remote/types.js';
import {
  foldersWithoutTraces,
  openInputs,
  type InputSource,
  type StandardInputSource,
  type UrlSource,
} from './source.js';
import { openText } from './text.js';

export interface ReadOptions {
  readonly limits?: Partial<ReadLimits>;
  /**
   * Second reading: only the records that begin at these lines (text) or byte offsets (binary) are parsed, the others
   * are passed over at the speed of a scan. Take them from `EvidenceRef`.
   */
  readonly only?: ReadonlySet<number>;
  /**
   * Keeps what can be read only once (standard input, addresses) as a file in this folder, named in the summary as
   * `spooled`, so that it can be read a second time. Without it nothing is kept.
   */
  readonly spoolDirectory?: string;
  /** For addresses among the names of `readInputs`. */
  readonly remote?: RemoteOptions;
}

interface Input {
  readonly reading: Reading;
  readonly found: boolean;
  readonly only: ReadonlySet<number> | undefined;
  compression: 'gzip' | 'zstd' | undefined;
  bytes: number;
}

/**
 * Reads one input to its end. Never throws for what an input holds or lacks: that is damage, told to the sink and in
 * the summary. What the sink throws passes through.
 */
export async function readInput(
  source: InputSource,
  sink: Sink,
  options: ReadOptions = {},
): Promise<InputSummary> {
  const reading = new Reading(source.id, sink, { ...DEFAULT_LIMITS, ...options.limits });
  const input: Input = {
    reading,
    found: source.kind === 'file' && source.found,
    only: options.only,
    compression: undefined,
    bytes: 0,
  };
  let spooled: string | undefined;
  switch (source.kind) {
    case 'file':
      await readFile(source.path, input);
      break;
    case 'stdin':
      spooled = await readStream(source, input, options.spoolDirectory);
      break;
    case 'url':
      spooled = await readRemote(source, input, options.spoolDirectory);
      break;
    case 'bytes':
      await readChunks(counting(chunksOfBytes(source.bytes), input), input);
      break;
  }
  if (source.kind === 'file' && source.quarantined !== undefined && reading.records === 0) {
    reading.damage(
      `kept in quarantine by the receiver: ${source.quarantined}`,
      'the note beside it says what was sent; correct the sender and send it again',
    );
  }
  if (reading.format === '' && reading.damaged.length === 0 && !input.found) {
    reading.damage(
      input.bytes === 0 ? 'an empty input' : 'an input of nothing but white space',
      'check that the exporter was flushed before the program ended',
    );
  }
  reading.end();
  return {
    id: source.id,
    path: source.path,
    format: reading.format === '' ? 'none' : reading.format,
    ...(spooled === undefined ? {} : { spooled }),
    ...(input.compression === undefined ? {} : { compression: input.compression }),
    bytes: input.bytes,
    spans: reading.spans,
    logs: reading.logs,
    damaged: reading.damaged,
  };
}

/**
 * Reads all inputs that the names stand for, one after another.
 * @returns one summary per input that was found, and what could not be found; both were told to the sink already
 */
export async function readInputs(
  paths: readonly string[],
  sink: Sink,
  options: ReadOptions = {},
): Promise<{ readonly inputs: readonly InputSummary[]; readonly problems: readonly Damage[] }> {
  const { sources, problems } = openInputs(paths, options.remote);
  for (const problem of problems) sink.damage(problem);
  const inputs: InputSummary[] = [];
  for (const source of sources) inputs.push(await readInput(source, sink, options));
  const folders = foldersWithoutTraces(sources, inputs);
  for (const folder of folders) sink.damage(folder);
  return { inputs, problems: [...problems, ...folders] };
}

/** Standard input, and the file that it was copied to. */
async function readStream(
  source: StandardInputSource,
  input: Input,
  folder: string | undefined,
): Promise<string | undefined> {
  const chunks = counting(source.stream ?? process.stdin, input);
  if (folder === undefined) {
    await readChunks(chunks, input);
    return undefined;
  }
  const file = path.join(folder, `${source.id}.spool`);
  const fd = openSync(file, 'w', 0o600);
  try {
    await readChunks(copied(chunks, fd), input);
  } finally {
    closeSync(fd);
  }
  return file;
}

/** An address: fetched into a file, which is then read. */
async function readRemote(
  source: UrlSource,
  input: Input,
  folder: string | undefined,
): Promise<string | undefined> {
  const directory = folder ?? mkdtempSync(path.join(tmpdir(), 'waybill-'));
  const file = path.join(directory, `${source.id}.spool`);
  try {
    const problems = await fetchInto(file, source.remote, source.options);
    await readFile(file, input);
    for (const { kind, reason, remedy } of problems) {
      if (kind === 'failed') input.reading.damage(reason, remedy);
      else input.reading.gap('partial_answer', `${reason}; ${remedy}`);
    }
    if (input.bytes === 0 && problems.length === 0) {
      input.reading.damage(
        'the backend holds no such traces in this time range',
        'ask for another time range or service; very recent spans may not be readable yet',
      );
    }
  } finally {
    if (folder === undefined) rmSync(directory, { recursive: true, force: true });
  }
  return folder === undefined ? undefined : file;
}

function counting(chunks: Chunks, input: Input): Chunks {
  return counted(chunks, (bytes) => {
    input.bytes += bytes;
  });
}

async function readFile(file: string, input: Input): Promise<void> {
  let fd: number | undefined;
  try {
    fd = openSync(file, 'r');
    const head = readHead(fd);
    input.bytes += head.length;
    const whole = head.length < HEAD_BYTES;
    if (sniff(head, whole, input.reading.limits.maxRecordBytes) === 'text') readPlainFile(fd, head, input);
    else await readChunks(afterHead(head, counting(chunksOfFile(fd), input)), input);
  } catch (error) {
    readFailed(error, input);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** A pipe gives what it has; the head is whole or the input is at its end. */
function readHead(fd: number): Buffer {
  const head = Buffer.allocUnsafe(HEAD_BYTES);
  let length = 0;
  while (length < head.length) {
    const read = readSync(fd, head, length, head.length - length, null);
    if (read === 0) break;
    length += read;
  }
  return head.subarray(0, length);
}

async function* afterHead(head: Buffer, rest: Chunks): Chunks {
  yield head;
  yield* rest;
}

/** A failing disk or a folder in disguise; everything else is a fault of the program and must not be hidden. */
function readFailed(error: unknown, input: Input): void {
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string' || !/^E[A-Z]+$/.test(code)) throw error;
  input.reading.damage(
    `the file cannot be read (${code})`,
    'check that it exists and that this user may read it; what was read before was judged',
  );
}

function readPlainFile(fd: number, head: Buffer, input: Input): void {
  const text = openText(input.reading, input);
  text.records.push(head);
  for (;;) {
    const { buffer, offset, length } = text.records.room();
    const read = readSync(fd, buffer, offset, length, null);
    if (read === 0) break;
    input.bytes += read;
    text.records.filledBy(read);
  }
  text.end();
}

/** Packed in packed ends here. */
const MAX_LAYERS = 3;

async function readChunks(chunks: Chunks, input: Input, layers = 0): Promise<void> {
  const { reading } = input;
  const { head, all } = await takeHead(chunks, HEAD_BYTES);
  const kind = sniff(head, head.length < HEAD_BYTES, reading.limits.maxRecordBytes);
  switch (kind) {
    case 'gzip':
    case 'zstd': {
      if (layers === MAX_LAYERS) {
        reading.damage('an archive in an archive in an archive', 'unpack it and name the files inside');
        return;
      }
      input.compression = kind;
      const { maxInflateRatio } = reading.limits;
      const unpacked = kind === 'gzip' ? gunzip(all, maxInflateRatio) : unzstd(all, maxInflateRatio);
      await readChunks(untilBroken(unpacked, kind, input), input, layers + 1);
      return;
    }
    case 'utf-16le':
    case 'utf-16be':
      await readText(utf8OfUtf16(all, kind), input);
      return;
    case 'framed':
    case 'protobuf':
      await readBinary(all, kind, reading, input.only);
      return;
    case 'text':
      await readText(all, input);
      return;
  }
}

/** Ends where the archive breaks off, and says so: what came before is read. */
async function* untilBroken(chunks: Chunks, kind: 'gzip' | 'zstd', input: Input): Chunks {
  const iterator = chunks[Symbol.asyncIterator]();
  for (;;) {
    let next: IteratorResult<Uint8Array>;
    try {
      next = await iterator.next();
    } catch (error) {
      const { reading } = input;
      reading.line = undefined;
      reading.offset = input.bytes;
      const why = error instanceof Error ? error.message : String(error);
      reading.damage(
        `the ${kind} data breaks off or is damaged (${why})`,
        'export or copy the file again; what could be unpacked was read',
      );
      reading.offset = undefined;
      return;
    }
    if (next.done === true) return;
    yield next.value;
  }
}

async function readText(chunks: Chunks, input: Input): Promise<void> {
  const text = openText(input.reading, input);
  for await (const chunk of chunks) text.records.push(chunk);
  text.end();
}
