/**
 * Where bodies go that cannot be stored as OTLP JSON: as they came, beside a note that says what they are. A later
 * audit, or a person, can still read them; the sender must not send them again and again.
 */
import { mkdir, open, rm, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { syncFolder } from './append-log.js';

export interface QuarantineNote {
  readonly reason: string;
  readonly receivedAt: string;
  readonly signal: string;
  readonly contentType: string;
  readonly contentEncoding: string;
  readonly bytes: number;
}

/** A quarantined body that is being written. */
export class QuarantinedBody {
  readonly file: string;
  private bytes = 0;
  private readonly handle: FileHandle;

  constructor(file: string, handle: FileHandle) {
    this.file = file;
    this.handle = handle;
  }

  async write(chunk: Uint8Array): Promise<void> {
    await this.handle.appendFile(chunk);
    this.bytes += chunk.length;
  }

  /** Resolves when body and note are on disk. */
  async finish(note: Omit<QuarantineNote, 'bytes'>): Promise<void> {
    await this.handle.datasync();
    await this.handle.close();
    const handle = await open(`${this.file}.note.json`, 'wx', 0o600);
    try {
      await handle.appendFile(`${JSON.stringify({ ...note, bytes: this.bytes })}\n`);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    await syncFolder(path.dirname(this.file));
  }

  /** The sender went away, or the disk is full: nothing was acknowledged, so nothing is kept. */
  async discard(): Promise<void> {
    await this.handle.close().catch(() => undefined);
    await rm(this.file, { force: true }).catch(() => undefined);
  }
}

export class Quarantine {
  readonly folder: string;
  private count = 0;

  constructor(directory: string) {
    this.folder = path.join(directory, 'quarantine');
  }

  /** The name is made of time, process and number alone: nothing of a request reaches a path. */
  async begin(now: Date): Promise<QuarantinedBody> {
    await mkdir(this.folder, { recursive: true });
    this.count += 1;
    const stamp = now.toISOString().replace(/[:.]/g, '-');
    const file = path.join(this.folder, `${stamp}-${process.pid}-${this.count}.body`);
    return new QuarantinedBody(file, await open(file, 'wx', 0o600));
  }
}
