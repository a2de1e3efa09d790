/**
 * A file of records that are on disk before anybody is told so. Many requests share one `fdatasync` (group commit): what
 * arrives while one is running goes out with the next.
 */
import { mkdir, open, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { LINES, type Form } from './form.js';

interface Pending {
  readonly record: Buffer;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Bytes that go out in one write; a bound for what is copied, not for what is accepted. */
const BATCH_BYTES = 32 << 20;

export class AppendLog {
  readonly file: string;
  private readonly form: Form;
  private pending: Pending[] = [];
  private running: Promise<void> | undefined;
  private handle: FileHandle | undefined;
  /** Length up to the last whole record. */
  private size = 0;
  private inode = 0n;

  constructor(file: string, form: Form = LINES) {
    this.file = file;
    this.form = form;
  }

  /**
   * Appends one record (of lines: without the newline). Resolves when it is on disk; rejects, having left no half record
   * behind, when that failed.
   */
  append(record: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.pending.push({ record, resolve, reject });
      this.running ??= this.run();
    });
  }

  /** Bytes that are acknowledged; undefined before the first append of this process. */
  get committed(): number | undefined {
    return this.handle === undefined ? undefined : this.size;
  }

  /** Waits for what was accepted and closes the file. */
  async close(): Promise<void> {
    await this.running;
    const { handle } = this;
    this.handle = undefined;
    await handle?.close();
  }

  private async run(): Promise<void> {
    // Requests of the same turn of the event loop share the first sync.
    await Promise.resolve();
    while (this.pending.length > 0) {
      const batch = this.takeBatch();
      try {
        await this.commit(batch);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.running = undefined;
  }

  private takeBatch(): readonly Pending[] {
    let bytes = 0;
    let count = 0;
    for (const { record } of this.pending) {
      bytes += record.length;
      if (count > 0 && bytes > BATCH_BYTES) break;
      count += 1;
    }
    return this.pending.splice(0, count);
  }

  private async commit(batch: readonly Pending[]): Promise<void> {
    const handle = await this.opened();
    const parts = batch.flatMap(({ record }) => this.form.wrap(record));
    try {
      const written = await writeAll(handle, parts);
      await handle.datasync();
      this.size += written;
    } catch (error) {
      await this.takeBack(handle);
      throw error;
    }
  }

  /** After a failure a part of the batch may stand in the file: it was not acknowledged and would be a torn record. */
  private async takeBack(handle: FileHandle): Promise<void> {
    this.handle = undefined;
    try {
      await handle.truncate(this.size);
    } catch {
      // What cannot be shortened ends in a torn record; the next opening sees and completes it.
    }
    await handle.close().catch(() => undefined);
  }

  private async opened(): Promise<FileHandle> {
    if (this.handle !== undefined) {
      // A file that was moved or deleted would take evidence that nobody finds again.
      const now = await stat(this.file, { bigint: true }).catch(() => undefined);
      if (now !== undefined && now.ino === this.inode) return this.handle;
      const { handle } = this;
      this.handle = undefined;
      await handle.close().catch(() => undefined);
    }
    const folder = path.dirname(this.file);
    await mkdir(folder, { recursive: true });
    const handle = await open(this.file, 'a+', 0o600);
    try {
      const stats = await handle.stat({ bigint: true });
      this.inode = stats.ino;
      this.size = Number(stats.size);
      if (this.size === 0) await syncFolder(folder);
      else if (stats.isFile()) {
        this.size += await writeAll(handle, [await this.form.completion(handle, this.size)]);
      }
    } catch (error) {
      await handle.close().catch(() => undefined);
      throw error;
    }
    this.handle = handle;
    return handle;
  }
}

/** One write for all parts where the system takes them at once; gives their length. */
async function writeAll(handle: FileHandle, parts: readonly Buffer[]): Promise<number> {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (length === 0) return 0;
  let { bytesWritten: written } = await handle.writev(parts);
  if (written === length) return length;
  const bytes = Buffer.concat(parts);
  while (written < length) written += (await handle.write(bytes, written)).bytesWritten;
  return length;
}

/** Makes the name of a new file durable; where folders cannot be synced (Windows) nothing better is known. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EPERM' && code !== 'EISDIR' && code !== 'EINVAL' && code !== 'EACCES') throw error;
  }
}
