/** Which versions are run together. Everything is named exactly: the table in the docs is true of these. */

/** Packages by name, with the version or range that npm is asked for. */
export type Packages = Readonly<Record<string, string>>;

/** A line of the OpenTelemetry SDK for Node. */
export interface OtelLine {
  readonly name: string;
  readonly packages: Packages;
}

function otel(name: string, experimental: string, api: string): OtelLine {
  return {
    name,
    packages: {
      '@opentelemetry/api': api,
      '@opentelemetry/exporter-trace-otlp-http': experimental,
      '@opentelemetry/sdk-node': experimental,
    },
  };
}

/** By the version of `@opentelemetry/sdk-trace`; the packages that are still 0.x have numbers of their own. */
const OTEL_2_0: OtelLine = otel('2.0.0', '0.200.0', '1.9.0');
export const OTEL_2: OtelLine = otel('2.12.0', '0.223.0', '1.9.1');
const OTEL_3_0: OtelLine = otel('3.0.0', '0.300.0', '1.10.0');
const OTEL_3: OtelLine = otel('3.1.0', '0.301.0', '1.10.0');

/** An MCP SDK as an application depends on it. */
export interface McpSdk {
  readonly line: 'v1' | 'v2';
  readonly version: string;
  readonly packages: Packages;
}

const V1_PACKAGE = '@modelcontextprotocol/sdk';
/** Until 1.22 the SDK knows zod 3 alone. */
const LAST_WITH_ZOD_3 = 22;
const ZOD_3 = '3.25.76';
const ZOD_4 = '4.6.7';

function v1(version: string): McpSdk {
  const minor = Number(version.split('.')[1]);
  const zod = minor <= LAST_WITH_ZOD_3 ? ZOD_3 : ZOD_4;
  return { line: 'v1', version, packages: { [V1_PACKAGE]: version, zod } };
}

function v2(version: string, node: string): McpSdk {
  const packages = {
    '@modelcontextprotocol/client': version,
    '@modelcontextprotocol/server': version,
    '@modelcontextprotocol/node': node,
    // Peer dependency of `node` before 2.1.1.
    hono: '^4.11.4',
    zod: ZOD_4,
  };
  return { line: 'v2', version, packages };
}

/** The last release of every minor version from the floor on. */
export const V1: readonly McpSdk[] = [
  '1.10.2',
  '1.11.4',
  '1.12.3',
  '1.13.3',
  '1.14.0',
  '1.15.1',
  '1.16.0',
  '1.17.5',
  '1.18.2',
  '1.19.1',
  '1.20.2',
  '1.21.2',
  '1.22.0',
  '1.23.1',
  '1.24.3',
  '1.25.3',
  '1.26.0',
  '1.27.1',
  '1.28.0',
  '1.29.0',
  '1.30.1',
  '1.31.0',
  '1.32.2',
].map(v1);

/** Client and server with the newest `node` that their peer dependencies allow. */
export const V2: readonly McpSdk[] = [
  v2('2.0.0', '2.0.0'),
  v2('2.1.0', '2.1.0'),
  v2('2.2.0', '2.1.0'),
  v2('2.3.1', '2.1.1'),
  v2('2.4.0', '2.1.2'),
];

/** Versions of the npm packages `bun` and `deno`. */
export const BUN = '1.4.5';
export const DENO = '2.9.6';

export type Format = 'esm' | 'cjs';
export const FORMATS: readonly Format[] = ['esm', 'cjs'];

/** One folder with its versions, and one line of Node that runs it. */
export interface Combination {
  readonly mcp: McpSdk;
  readonly otel: OtelLine;
  readonly node: number;
}

/** The newest release of each line. */
export const NEWEST: readonly McpSdk[] = [V1, V2].flatMap((line) => line.slice(-1));
/** Floor and newest of each line, and two versions in which much had changed. */
const UNDER_OTEL_3: readonly McpSdk[] = [...V1, ...V2].filter(({ version }) =>
  ['1.10.2', '1.20.2', '1.26.0', '1.32.2', '2.0.0', '2.4.0'].includes(version),
);

const combine = (sdks: readonly McpSdk[], otel: OtelLine, node: number): readonly Combination[] =>
  sdks.map((mcp) => ({ mcp, otel, node }));

/** Every version under OpenTelemetry 2 on Node 20, a choice under 3 on Node 24, and the newest on what lies around. */
export const COMBINATIONS: readonly Combination[] = [
  ...combine([...V1, ...V2], OTEL_2, 20),
  ...combine(UNDER_OTEL_3, OTEL_3, 24),
  ...combine(NEWEST, OTEL_2_0, 20),
  ...combine(NEWEST, OTEL_3_0, 24),
  ...combine(NEWEST, OTEL_3, 22),
  ...combine(NEWEST, OTEL_3, 26),
];
