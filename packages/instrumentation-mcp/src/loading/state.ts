import type { PatchReport } from '../types.js';

export type PatchEntry = PatchReport['patched'][number];

/** How ES modules reach the plugin. `none`: no hook of ours, files are patched in place instead. */
export type LoaderHook = 'none' | 'asynchronous' | 'synchronous';

/** What is true once per process, however many copies of this package are loaded. */
export interface LoadingState {
  readonly patched: PatchEntry[];
  /** Specifiers of essential modules in which nothing could be patched, with what was found instead. */
  readonly unpatchable: string[];
  /** Modules recorded by a class they export: the same module found in two ways is one entry. */
  readonly known: WeakMap<object, Set<string>>;
  /** Codes of the warnings given. */
  readonly warned: Set<string>;
  hook: LoaderHook;
  /** True when `register` ran before the application's main module. */
  preloaded: boolean;
  requireHooked: boolean;
  inPlaceDone: boolean;
  selfCheckInstalled: boolean;
  /** Set by `register`, so that a second evaluation does not create a second instrumentation. */
  registered: boolean;
  /** Whether a patched method was called: the copy of the SDK that the program uses is one that was patched. */
  used: boolean;
  /** Ends what the instrumentation in charge listens to, when another one takes over. */
  retire: () => void;
  /** Whether the instrumentation that was enabled last still is. */
  isEnabled: () => boolean;
}

const KEY = Symbol.for('waybill.mcp.loading.v1');

export function loadingState(): LoadingState {
  const holder = globalThis as { [KEY]?: LoadingState };
  return (holder[KEY] ??= {
    patched: [],
    unpatchable: [],
    known: new WeakMap(),
    warned: new Set(),
    hook: 'none',
    preloaded: false,
    requireHooked: false,
    inPlaceDone: false,
    selfCheckInstalled: false,
    registered: false,
    used: false,
    retire: () => undefined,
    isEnabled: () => false,
  });
}
