import { type Foreign, isForeign, isFunction } from './foreign.js';
import type { PatchedClass } from './hooks.js';

export interface FoundClass {
  readonly name: PatchedClass;
  readonly prototype: Foreign;
}

interface Feature {
  readonly name: PatchedClass;
  readonly all: readonly string[];
  readonly none?: readonly string[];
}

const FEATURES: readonly Feature[] = [
  { name: 'Protocol', all: ['_onrequest', '_onresponse', 'request', 'notification', 'connect'] },
  { name: 'Client', all: ['callTool', 'listTools', 'connect'] },
  { name: 'McpServer', all: ['registerTool', 'connect'] },
  { name: 'McpServer', all: ['tool', 'prompt', 'connect'], none: ['registerTool'] },
  { name: 'StreamableHTTPClientTransport', all: ['_handleSseStream', '_startOrAuthSse', 'send'] },
  { name: 'SSEClientTransport', all: ['_startOrAuth', 'send', 'start'] },
  { name: 'StdioClientTransport', all: ['processReadBuffer', 'start', 'send', 'stderr'] },
  { name: 'ReadBuffer', all: ['append', 'readMessage', 'clear'] },
];

/** Longest prototype chain that is followed: `McpServer` and the like have three links at most. */
const MAX_CHAIN = 6;

/** Finds the SDK's classes among the exports of a module and among their ancestors. */
export function findClasses(exports: object): readonly FoundClass[] {
  const found = new Map<Foreign, PatchedClass>();
  for (const value of exportedValues(exports)) {
    if (!isFunction(value)) continue;
    let prototype = safePrototype(value);
    for (let depth = 0; depth < MAX_CHAIN && isForeign(prototype); depth++) {
      if (ROOTS.has(prototype)) break;
      const name = recognise(prototype);
      if (name !== undefined) found.set(prototype, name);
      prototype = Object.getPrototypeOf(prototype) as unknown;
    }
  }
  return [...found].map(([prototype, name]) => ({ name, prototype }));
}

const ROOTS: ReadonlySet<unknown> = new Set([Object.prototype, Function.prototype]);

function exportedValues(exports: object): unknown[] {
  const values: unknown[] = [];
  for (const key of Object.keys(exports)) {
    try {
      values.push((exports as Foreign)[key]);
    } catch {
      // A binding in its temporal dead zone, or a lazy getter that fails: not a class that can be patched now.
    }
  }
  return values;
}

function safePrototype(value: object): unknown {
  try {
    return (value as { prototype?: unknown }).prototype;
  } catch {
    return undefined;
  }
}

function recognise(prototype: Foreign): PatchedClass | undefined {
  const has = (key: string): boolean => Object.hasOwn(prototype, key);
  return FEATURES.find((feature) => feature.all.every(has) && !(feature.none ?? []).some(has))?.name;
}
