import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ReceiptSink } from './types.js';

export interface FileReceipts extends ReceiptSink {
  /** Waits for appends under way and closes the file. */
  close(): Promise<void>;
}

/**
 * Receipts as JSON Lines in a file that this process appends to. A line is on disk (fsync) before `append` resolves.
 * The file is made with mode 0600: it belongs to the service, and no client or agent has a reason to open it. A half
 * line left by a crash is closed with a line end, so that it damages no other.
 *
 * @param path absolute or relative to the working directory; the folder must exist.
 */
export function fileReceipts(path: string): FileReceipts {
  let file: Promise<FileHandle> | undefined;
  /** True until the end of the file is known to be a line end. */
  let checkEnd = true;
  let last: Promise<unknown> = Promise.resolve();

  const append = async (line: string): Promise<void> => {
    if (/[\r\n]/.test(line)) throw new TypeError('a receipt is one line');
    file ??= openForAppend(path);
    let handle;
    try {
      handle = await file;
    } catch (error) {
      file = undefined;
      throw error;
    }
    const start = checkEnd && (await endsInsideLine(handle)) ? '\n' : '';
    checkEnd = true;
    // One write with O_APPEND: lines of several processes do not mix.
    const bytes = Buffer.from(`${start}${line}\n`);
    const { bytesWritten } = await handle.write(bytes);
    if (bytesWritten !== bytes.byteLength) {
      throw new Error(`only ${bytesWritten} of ${bytes.byteLength} bytes of a receipt fitted into ${path}`);
    }
    await handle.sync();
    checkEnd = false;
  };

  return {
    append(line) {
      const result = last.then(() => append(line));
      last = result.catch(() => undefined);
      return result;
    },
    async close() {
      await last;
      const handle = await file?.catch(() => undefined);
      file = undefined;
      checkEnd = true;
      await handle?.close();
    },
  };
}

async function openForAppend(path: string): Promise<FileHandle> {
  const handle = await open(path, 'a+', 0o600);
  // The name of a new file is durable only when its folder is.
  const folder = await open(dirname(path), 'r').catch(() => undefined);
  try {
    await folder?.sync();
  } catch {
    // Not every system can sync a folder; the lines themselves are synced below.
  } finally {
    await folder?.close();
  }
  return handle;
}

async function endsInsideLine(handle: FileHandle): Promise<boolean> {
  const { size } = await handle.stat();
  if (size === 0) return false;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return bytesRead === 1 && buffer[0] !== 0x0a;
}
