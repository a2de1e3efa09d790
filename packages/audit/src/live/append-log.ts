/**
 * A file of lines that is on disk before anybody is told so. Many requests share one `fdatasync` (group commit): what
 * arrives while one is running goes out with the next.
 */
import { mkdir, open, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';

interface Pending {
  readonly line: Buffer;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const NEWLINE = Buffer.from('\n');
/** Bytes that go out in one write; a bound for what is copied, not for what is accepted. */
const BATCH_BYTES = 32 << 20;

export class AppendLog {
  readonly file: string;
  private pending: Pending[] = [];
  private running: Promise<void> | undefined;
  private handle: FileHandle | undefined;
  /** Length up to the last whole line. */
  private size = 0;
  private inode = 0n;

  constructor(file: string) {
    this.file = file;
  }

  /**
   * Appends one line (without its newline). Resolves when it is on disk; rejects, having left no half line behind, when
   * that failed.
   */
  append(line: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.pending.push({ line, resolve, reject });
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
    for (const { line } of this.pending) {
      bytes += line.length;
      if (count > 0 && bytes > BATCH_BYTES) break;
      count += 1;
    }
    return this.pending.splice(0, count);
  }

  private async commit(batch: readonly Pending[]): Promise<void> {
    const handle = await this.opened();
    const bytes = Buffer.concat(batch.flatMap(({ line }) => [line, NEWLINE]));
    try {
      await handle.appendFile(bytes);
      await handle.datasync();
      this.size += bytes.length;
    } catch (error) {
      await this.takeBack(handle);
      throw error;
    }
  }

  /** After a failure a part of the batch may stand in the file: it was not acknowledged and would be a torn line. */
  private async takeBack(handle: FileHandle): Promise<void> {
    this.handle = undefined;
    try {
      await handle.truncate(this.size);
    } catch {
      // What cannot be shortened ends in a torn line; the next opening sees it and begins a new line.
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
      else if (stats.isFile() && !(await endsInNewline(handle, this.size))) {
        await handle.appendFile(NEWLINE);
        this.size += NEWLINE.length;
      }
    } catch (error) {
      await handle.close().catch(() => undefined);
      throw error;
    }
    this.handle = handle;
    return handle;
  }
}

async function endsInNewline(handle: FileHandle, size: number): Promise<boolean> {
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === NEWLINE[0];
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
