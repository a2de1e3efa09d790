import type { HookPoint } from './hooks.js';

/** One call of a patched method. */
export interface Invocation {
  readonly self: object;
  readonly args: readonly unknown[];
  /** Runs the SDK's own method, with other arguments where given. */
  readonly proceed: (args?: readonly unknown[]) => unknown;
}

export type Handler = (invocation: Invocation) => unknown;

/** What the wrappers call. Swapping it changes the logic without a second wrapper. */
export interface HookTable {
  /** Whether the handler of this point is to be called. */
  isEnabled(point: HookPoint): boolean;
  readonly handlers: Readonly<Partial<Record<HookPoint, Handler>>>;
  /** Watches a transport of which the protocol layer is unknown. */
  instrumentTransport(transport: object, role: 'client' | 'server'): void;
  /** Told of a handler that failed; the SDK's method ran all the same. */
  failed(point: HookPoint, error: unknown): void;
}

/** Numbers of this process incarnation; they outlive a swap of the table. */
export interface Boundary {
  readonly id: string;
  readonly calls: { client: number; server: number };
}

interface Holder {
  active: HookTable | undefined;
  boundary: Boundary;
  /** Hook points that some patched class did not have. */
  readonly missing: Set<string>;
}

const KEY = Symbol.for('waybill.mcp.v1');

/** The one holder of this process, shared by all copies and versions of this package with the same key. */
export function holder(): Holder {
  const scope = globalThis as { [KEY]?: Holder };
  return (scope[KEY] ??= {
    active: undefined,
    boundary: { id: crypto.randomUUID(), calls: { client: 0, server: 0 } },
    missing: new Set<string>(),
  });
}
