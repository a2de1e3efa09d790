/**
 * Turns what was named on the command line into inputs: files, patterns, folders, addresses, `-` for standard input. What a file
 * holds is decided by its bytes when it is read, never by its name.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { globSync, isDynamicPattern } from 'tinyglobby';
import type { Damage, InputSummary } from '../model.js';
import { isObject } from './exact-json.js';
import { remoteUrl, type RemoteOptions, type RemoteUrl } from './remote/types.js';

export type InputSource = FileSource | StandardInputSource | BytesSource | UrlSource;

interface NamedSource {
  /** 's1', 's2', … in the order in which inputs were named. */
  readonly id: string;
  /** As it was named, or found below what was named. */
  readonly path: string;
}

export interface FileSource extends NamedSource {
  readonly kind: 'file';
  /** Found in a folder, not named itself: other files than traces are expected there and passed over. */
  readonly found: boolean;
  /** The folder as it was named, for a file that was found in one. */
  readonly folder?: string;
  /** Why the receiver set this body aside; damage if nothing in it can be read here either. */
  readonly quarantined?: string;
}

export interface StandardInputSource extends NamedSource {
  readonly kind: 'stdin';
  /** Where to read from instead of the standard input of the process. */
  readonly stream?: AsyncIterable<Uint8Array>;
}

/** Bytes that are in memory already: tests, and what was fetched. */
export interface BytesSource extends NamedSource {
  readonly kind: 'bytes';
  readonly bytes: Uint8Array;
}

/** Traces that a backend is asked for. */
export interface UrlSource extends NamedSource {
  readonly kind: 'url';
  readonly remote: RemoteUrl;
  readonly options: RemoteOptions;
}

export interface OpenedInputs {
  readonly sources: readonly InputSource[];
  /** What was named and cannot be read at all: missing files, empty folders, patterns without a match. */
  readonly problems: readonly Damage[];
}

/** Finds the inputs; reads no contents. The order of the result is that of the names, inside a folder by name. */
export function openInputs(paths: readonly string[], remoteOptions: RemoteOptions = {}): OpenedInputs {
  const sources: InputSource[] = [];
  const problems: Damage[] = [];
  const seen = new Set<string>();
  const add = (file: string, folder?: string): void => {
    const key = path.resolve(file);
    if (seen.has(key)) return;
    seen.add(key);
    const found = folder !== undefined;
    const quarantined = found ? quarantineReason(file) : undefined;
    const id = `s${sources.length + 1}`;
    sources.push({
      kind: 'file',
      id,
      path: file,
      found,
      ...(found ? { folder } : {}),
      ...(quarantined === undefined ? {} : { quarantined }),
    });
  };
  const problem = (name: string, reason: string, remedy: string): void => {
    problems.push({ at: { source: name }, reason, remedy });
  };
  for (const name of paths) {
    if (name === '-') {
      if (seen.has('-')) continue;
      seen.add('-');
      sources.push({ kind: 'stdin', id: `s${sources.length + 1}`, path: '-' });
      continue;
    }
    const remote = remoteUrl(name);
    if (remote !== undefined) {
      // Credentials in an address stay out of reports.
      const path = name.replace(/\/\/[^/@]*@/, '//');
      sources.push({ kind: 'url', id: `s${sources.length + 1}`, path, remote, options: remoteOptions });
      continue;
    }
    const kind = kindOf(name);
    if (kind === 'file') {
      for (const sibling of rotated(name)) add(sibling);
      add(name);
    } else if (kind === 'folder') {
      const files = filesBelow(name);
      if (files.length === 0) problem(name, 'an empty folder', 'name a folder that holds exported traces');
      for (const file of files) add(file, name);
    } else if (kind === undefined && isDynamicPattern(name)) {
      const files = globSync(name, { dot: false, onlyFiles: true, expandDirectories: false })
        .filter(isRegularFile)
        .sort();
      if (files.length === 0)
        problem(name, 'no file matches this pattern', 'check the pattern and the folder');
      for (const file of files) add(file);
    } else if (kind === undefined) {
      problem(
        name,
        'no such file or folder',
        'check the path; quote patterns so that the shell leaves them alone',
      );
    } else {
      problem(name, kind.reason, kind.remedy);
    }
  }
  return { sources, problems };
}

/** Folders that were named and in which nothing was understood; call it when all sources were read. */
export function foldersWithoutTraces(
  sources: readonly InputSource[],
  inputs: readonly InputSummary[],
): readonly Damage[] {
  const understood = new Map<string, boolean>();
  for (const [index, source] of sources.entries()) {
    if (source.kind !== 'file' || source.folder === undefined) continue;
    const format = inputs[index]?.format ?? 'none';
    understood.set(source.folder, understood.get(source.folder) === true || format !== 'none');
  }
  return [...understood]
    .filter(([, any]) => !any)
    .map(([folder]) => ({
      at: { source: folder },
      reason: 'a folder without a file that holds traces',
      remedy: 'name the folder that the exporter, the Collector or "waybill serve" writes to',
    }));
}

function kindOf(name: string): 'file' | 'folder' | undefined | { reason: string; remedy: string } {
  try {
    const stats = statSync(name);
    // A pipe (`<(…)`) is read like a file.
    return stats.isDirectory() ? 'folder' : 'file';
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    return {
      reason: `cannot be read (${code ?? String(error)})`,
      remedy: 'check the permissions of the path',
    };
  }
}

/** False for what would be waited for without end when it is only found, not named: pipes, sockets, devices. */
function isRegularFile(file: string): boolean {
  try {
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

const SKIPPED_FOLDERS = new Set(['node_modules']);

function filesBelow(folder: string): readonly string[] {
  const files: string[] = [];
  let entries;
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return files;
  }
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.')) continue;
    const child = path.join(folder, entry.name);
    if (entry.isDirectory()) {
      if (!SKIPPED_FOLDERS.has(entry.name)) files.push(...filesBelow(child));
    } else if (entry.isFile() || (entry.isSymbolicLink() && isRegularFile(child))) files.push(child);
  }
  return files;
}

/** What the receiver noted beside a body in its quarantine. */
function quarantineReason(file: string): string | undefined {
  if (path.basename(path.dirname(file)) !== 'quarantine' || !file.endsWith('.body')) return undefined;
  try {
    const note: unknown = JSON.parse(readFileSync(`${file}.note.json`, 'utf8'));
    const reason = isObject(note) ? note['reason'] : undefined;
    return typeof reason === 'string' ? reason : 'no reason noted';
  } catch {
    return 'no reason noted';
  }
}

/** What the Collector's file exporter (lumberjack) puts before the extension when it rotates. */
const ROTATION = /^-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}$/;

/** Rotated siblings of a file: `traces-2026-09-14T05-02-14.173.jsonl` beside `traces.jsonl`, oldest first. */
function rotated(file: string): readonly string[] {
  const { dir, name, ext } = path.parse(file);
  let entries: readonly string[];
  try {
    entries = readdirSync(dir === '' ? '.' : dir);
  } catch {
    return [];
  }
  return entries
    .filter((entry) => {
      const bare = entry.replace(/\.(?:gz|zst)$/, '');
      if (!bare.startsWith(name) || !bare.endsWith(ext)) return false;
      return ROTATION.test(bare.slice(name.length, bare.length - ext.length));
    })
    .sort()
    .map((entry) => path.join(dir, entry));
}
