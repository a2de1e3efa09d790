import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Application, Manifest } from './application.js';
import { foldersUp, readManifest } from './application.js';
import type { SdkPackage } from './packages.js';
import { SDK_PACKAGES } from './packages.js';

/** One installed copy of an MCP SDK package that the application can reach. */
export interface SdkCopy {
  readonly sdk: SdkPackage;
  /** Real path of the package folder. */
  readonly folder: string;
  readonly version: string | undefined;
  /** Whether a package that is itself an ES module depends on this copy. */
  readonly importedByEsm: boolean;
}

/** Beyond this many packages the walk stops and only what was found counts: reading 4,000 manifests takes about 0.2 s. */
const MAX_PACKAGES = 4000;

/**
 * Every copy of an MCP SDK in the dependency tree of the application: two versions side by side are two copies. Only
 * declared dependencies count, so that a tool which merely lies in the same node_modules is no MCP program. Without
 * an SDK beside the application this costs a few `stat` calls.
 */
export function findSdkCopies(application: Application): readonly SdkCopy[] {
  try {
    return hasSdkNearby(application.root) ? walk(application) : [];
  } catch {
    return [];
  }
}

function walk(application: Application): readonly SdkCopy[] {
  const copies = new Map<string, SdkCopy>();
  const seen = new Set<string>([application.root]);
  const root = application.manifest;
  const queue: { readonly folder: string; readonly names: readonly string[]; readonly esm: boolean }[] = [
    {
      folder: application.root,
      names:
        root === undefined
          ? SDK_PACKAGES.map(({ name }) => name)
          : [...root.dependencies, ...root.devDependencies],
      esm: application.format === 'esm' || root?.type === 'module',
    },
  ];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const name of next.names) {
      const folder = resolvePackage(next.folder, name);
      if (folder === undefined) continue;
      const sdk = SDK_PACKAGES.find((candidate) => candidate.name === name);
      if (sdk !== undefined) {
        const known = copies.get(folder);
        copies.set(folder, {
          sdk,
          folder,
          version: known?.version ?? readManifest(folder)?.version,
          importedByEsm: next.esm || known?.importedByEsm === true,
        });
        if (seen.has(folder)) continue;
      } else if (seen.has(folder)) {
        continue;
      }
      if (seen.size >= MAX_PACKAGES) return [...copies.values()];
      seen.add(folder);
      const manifest: Manifest | undefined = readManifest(folder);
      if (manifest === undefined || manifest.dependencies.length === 0) continue;
      // The SDKs are dual: what they import of each other follows the format in which they were loaded.
      const esm = sdk === undefined ? manifest.type === 'module' : next.esm;
      queue.push({ folder, names: manifest.dependencies, esm });
    }
  }
  return [...copies.values()];
}

/** Resolution of a package folder as Node does it: node_modules of the folder and of every folder above. */
function resolvePackage(from: string, name: string): string | undefined {
  for (const folder of foldersUp(from)) {
    const candidate = join(folder, 'node_modules', name);
    if (statSync(join(candidate, 'package.json'), { throwIfNoEntry: false }) !== undefined) {
      return realpathSync(candidate);
    }
  }
  return undefined;
}

/** npm and yarn hoist one copy to a node_modules above the application, pnpm to its store's own node_modules. */
function hasSdkNearby(root: string): boolean {
  for (const folder of foldersUp(root)) {
    for (const place of ['node_modules', 'node_modules/.pnpm/node_modules']) {
      if (statSync(join(folder, place, '@modelcontextprotocol'), { throwIfNoEntry: false }) !== undefined)
        return true;
    }
  }
  return false;
}
