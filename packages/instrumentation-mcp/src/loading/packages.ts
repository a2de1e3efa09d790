/**
 * Which packages and files of the MCP SDKs hold classes that the plugin patches. Checked in the published packages:
 * sdk 1.10.2 to 1.32.2, client and server 2.0.0 to 2.4.0, node 2.1.2.
 */

/** One file of a package: the name an application imports and the file behind it, without and with a format. */
export interface SdkEntry {
  /** Specifier as an application writes it. */
  readonly specifier: string;
  /** Path inside the package, `/` separated, of the ES module. */
  readonly esm: string;
  /** Path inside the package, `/` separated, of the CommonJS module. */
  readonly cjs: string;
  /** Without this file patched, calls of this package are not seen at all. */
  readonly essential: boolean;
}

export interface SdkPackage {
  readonly name: string;
  /** Range in the notation of npm. */
  readonly supported: string;
  readonly major: number;
  /** Lowest supported minor version of `major`. */
  readonly minor: number;
  readonly entries: readonly SdkEntry[];
}

const V1_FILES = [
  'shared/protocol',
  'client/index',
  'server/index',
  'server/mcp',
  'client/streamableHttp',
  'client/sse',
  'client/stdio',
  'server/streamableHttp',
  'server/webStandardStreamableHttp',
  'server/sse',
  'server/stdio',
  'inMemory',
  'shared/stdio',
] as const;

export const V1_PACKAGE = '@modelcontextprotocol/sdk';

function v2(name: string, subpaths: readonly string[]): SdkPackage {
  const entry = (subpath: string): SdkEntry => {
    const file = subpath === '' ? 'index' : subpath;
    return {
      specifier: subpath === '' ? name : `${name}/${subpath}`,
      esm: `dist/${file}.mjs`,
      cjs: `dist/${file}.cjs`,
      essential: subpath === '' && !name.endsWith('/node'),
    };
  };
  return { name, supported: '>=2.0.0 <3', major: 2, minor: 0, entries: subpaths.map(entry) };
}

export const SDK_PACKAGES: readonly SdkPackage[] = [
  {
    name: V1_PACKAGE,
    supported: '>=1.10.0 <2',
    major: 1,
    minor: 10,
    entries: V1_FILES.map((file) => ({
      specifier: `${V1_PACKAGE}/${file}.js`,
      esm: `dist/esm/${file}.js`,
      cjs: `dist/cjs/${file}.js`,
      essential: file === 'shared/protocol',
    })),
  },
  v2('@modelcontextprotocol/client', ['', 'stdio']),
  v2('@modelcontextprotocol/server', ['', 'stdio']),
  v2('@modelcontextprotocol/node', ['']),
];

/**
 * What the loader hooks let through to the plugin: one expression over file URLs, since package names alone never
 * match the files of v1, silently. Wrapping every module of an application would be slower and has broken some.
 */
export const HOOK_INCLUDE: RegExp = /@modelcontextprotocol[\\/](?:sdk|client|server|node)\b/;

/** Whether `version` is one that the plugin was checked with; prereleases count as their release. */
export function isSupported(sdk: SdkPackage, version: string | undefined): boolean {
  const match = /^(\d+)\.(\d+)\./.exec(version ?? '');
  return match !== null && Number(match[1]) === sdk.major && Number(match[2]) >= sdk.minor;
}
