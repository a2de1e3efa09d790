import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { CliError, EXIT, errorCode, messageOf } from './errors.js';

/** The two streams a command writes to; a test gives its own. */
export interface Streams {
  readonly out: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly err: NodeJS.WritableStream;
}

/**
 * Writes pieces one after the other, waiting where the reader is slow. A reader that went away (`| head`) ends the
 * writing quietly: it has read what it wanted, and the exit code still says what was found.
 */
export async function writeStream(stream: NodeJS.WritableStream, pieces: Iterable<string>): Promise<void> {
  let gone = false;
  const onError = (error: Error): void => {
    if (errorCode(error) !== 'EPIPE') throw error;
    gone = true;
  };
  stream.on('error', onError);
  try {
    for (const piece of joined(pieces)) {
      if (gone) return;
      await new Promise<void>((resolve) => {
        stream.write(piece, () => resolve());
      });
    }
  } finally {
    // The error of the last write may come after its callback; the listener goes with the process instead.
    if (!gone) setImmediate(() => stream.off('error', onError));
  }
}

/** Writes a file beside its place and moves it there, so that nobody reads half a report. */
export function writeFile(path: string, pieces: Iterable<string>): void {
  const part = `${path}.${process.pid}.part`;
  try {
    const file = openSync(part, 'w');
    try {
      for (const piece of joined(pieces)) writeSync(file, piece);
    } finally {
      closeSync(file);
    }
    renameSync(part, path);
  } catch (error) {
    rmSync(part, { force: true });
    throw new CliError(
      EXIT.usage,
      `cannot write ${path}: ${messageOf(error)}`,
      'give --output a file in a folder that exists and may be written.',
    );
  }
}

const CHUNK = 64 * 1024;

/** Few large writes instead of many small ones. */
function* joined(pieces: Iterable<string>): Generator<string> {
  let held = '';
  for (const piece of pieces) {
    held += piece;
    if (held.length < CHUNK) continue;
    yield held;
    held = '';
  }
  if (held !== '') yield held;
}
