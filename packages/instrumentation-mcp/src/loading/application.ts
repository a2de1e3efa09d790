import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';

/** The parts of a package.json that decide how a package is loaded and what it may load. */
export interface Manifest {
  readonly name: string | undefined;
  readonly version: string | undefined;
  readonly type: string | undefined;
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
}

/** The program that runs in this process. */
export interface Application {
  /** Real path of the main module; undefined for `node -e`, the REPL and standard input. */
  readonly main: string | undefined;
  readonly format: 'esm' | 'cjs';
  /** Folder of the nearest package.json, else of the main module, else the working directory. */
  readonly root: string;
  readonly manifest: Manifest | undefined;
}

const CANDIDATE_ENDINGS = ['', '.js', '.mjs', '.cjs', '/index.js'];

/**
 * Finds the application from its main module, not from the working directory: a compiler or package manager started
 * in a project folder is not that project. Reads a handful of files, throws nothing.
 */
export function findApplication(main: string | undefined = process.argv[1]): Application {
  const file = main === undefined ? undefined : realFile(main);
  const start = file === undefined ? process.cwd() : dirname(file);
  const root = nearestPackage(start);
  const manifest = root === undefined ? undefined : readManifest(root);
  return { main: file, format: formatOf(file, manifest), root: root ?? start, manifest };
}

/** Reads `folder`/package.json; undefined when it is absent or not an object. */
export function readManifest(folder: string): Manifest | undefined {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  } catch {
    return undefined;
  }
  if (typeof json !== 'object' || json === null) return undefined;
  const fields = json as Record<string, unknown>;
  return {
    name: text(fields['name']),
    version: text(fields['version']),
    type: text(fields['type']),
    dependencies: [
      ...keys(fields['dependencies']),
      ...keys(fields['optionalDependencies']),
      ...keys(fields['peerDependencies']),
    ],
    devDependencies: keys(fields['devDependencies']),
  };
}

/** The folder and all folders above it, nearest first. */
export function* foldersUp(folder: string): Generator<string> {
  for (let current = folder; ; current = dirname(current)) {
    yield current;
    if (dirname(current) === current) return;
  }
}

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function nearestPackage(start: string): string | undefined {
  for (const folder of foldersUp(start)) {
    // A manifest without a name only marks the module format of a subtree (`dist/cjs/package.json`).
    if (readManifest(folder)?.name !== undefined) return folder;
  }
  return undefined;
}

function realFile(path: string): string | undefined {
  for (const ending of CANDIDATE_ENDINGS) {
    try {
      if (isFile(path + ending)) return realpathSync(path + ending);
    } catch {
      // Unreadable: the next candidate decides.
    }
  }
  return undefined;
}

function formatOf(file: string | undefined, manifest: Manifest | undefined): 'esm' | 'cjs' {
  if (file === undefined) return 'cjs';
  const extension = extname(file);
  if (extension === '.mjs' || extension === '.mts') return 'esm';
  if (extension === '.cjs' || extension === '.cts') return 'cjs';
  const type = nearestType(dirname(file)) ?? manifest?.type;
  if (type !== undefined) return type === 'module' ? 'esm' : 'cjs';
  return looksLikeEsm(file) ? 'esm' : 'cjs';
}

function nearestType(start: string): string | undefined {
  for (const folder of foldersUp(start)) {
    const manifest = readManifest(folder);
    if (manifest !== undefined) return manifest.type;
  }
  return undefined;
}

/** Node reads a `.js` file without a declared type as an ES module when it has module syntax. */
function looksLikeEsm(file: string): boolean {
  try {
    return /^\s*(?:import[\s{*'"]|export[\s{*])/m.test(readFileSync(file, 'utf8').slice(0, 64 * 1024));
  } catch {
    return false;
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function keys(value: unknown): string[] {
  return typeof value === 'object' && value !== null ? Object.keys(value) : [];
}
