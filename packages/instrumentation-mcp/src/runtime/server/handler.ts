import { type AnyFunction, follow, isForeign, isFunction, isThenable, read } from '../../patch/foreign.js';
import { named } from '../../patch/wrap.js';
import type { Connection } from '../connection.js';
import type { RuntimeCore } from '../core.js';
import { type HandlerResult, type ServerCall, callHere } from './call.js';
import { dropReply } from './reply.js';

/** Marks a handler that is wrapped already, and holds the runtime it reports to. */
const WRAPPED = Symbol.for('waybill.handler');
/** Marks a map of abort controllers that is watched, and holds to whom it reports. */
const WATCHED = Symbol.for('waybill.controllers');

/** Wraps the handler of a method where the SDK keeps it, so that its start and its end are seen. */
export function wrapHandler(core: RuntimeCore, protocol: object, method: string): void {
  const handlers = read(protocol, '_requestHandlers');
  if (!(handlers instanceof Map)) return;
  const handler: unknown = handlers.get(method);
  if (isFunction(handler)) {
    if (!adopted(core, handler)) handlers.set(method, wrapped({ core }, handler));
    return;
  }
  const fallback = read(protocol, 'fallbackRequestHandler');
  if (isFunction(fallback) && !adopted(core, fallback)) {
    (protocol as { fallbackRequestHandler?: unknown }).fallbackRequestHandler = wrapped({ core }, fallback);
  }
}

/** What a wrapper reports to: another runtime may take over. */
interface Wrapped {
  core: RuntimeCore;
}

/** Whether a handler is wrapped already; it then reports to this runtime. */
function adopted(core: RuntimeCore, handler: AnyFunction): boolean {
  const state = read(handler, WRAPPED);
  if (isForeign(state)) state['core'] = core;
  return state !== undefined;
}

function wrapped(state: Wrapped, handler: AnyFunction): AnyFunction {
  const wrapper = function (this: unknown, ...args: readonly unknown[]): unknown {
    const { core } = state;
    const call = core.flow.getStore()?.call;
    if (call === undefined || call.handler !== undefined || call.stages === undefined) {
      return Reflect.apply(handler, this, args);
    }
    const signal = signalOf(args[1]);
    core.guard('server.handler', () => started(core, call, signal));
    const settled = (result: HandlerResult): void => {
      core.guard('server.handler', () => returned(core, call, result));
    };
    let value: unknown;
    try {
      value = Reflect.apply(handler, this, args);
    } catch (error) {
      settled({ kind: 'threw', aborted: signal?.aborted === true });
      throw error;
    }
    if (!isThenable(value)) {
      settled({ kind: 'returned', aborted: signal?.aborted === true, value });
      return value;
    }
    return follow(
      value,
      (result) => settled({ kind: 'returned', aborted: signal?.aborted === true, value: result }),
      () => settled({ kind: 'threw', aborted: signal?.aborted === true }),
    );
  };
  Object.defineProperty(wrapper, WRAPPED, { value: state });
  return named(wrapper, handler);
}

/** 1.x: `extra.signal`; 2.x: `ctx.mcpReq.signal`. */
function signalOf(extra: unknown): AbortSignal | undefined {
  const signal = read(extra, 'signal') ?? read(read(extra, 'mcpReq'), 'signal');
  return signal instanceof AbortSignal ? signal : undefined;
}

function started(core: RuntimeCore, call: ServerCall, signal: AbortSignal | undefined): void {
  call.stages?.record('server.handler_started');
  const onAbort = (): void => {
    core.guard('server.cancel', () => {
      if (!call.ended && !call.replied) call.stages?.record('server.cancel_received');
    });
  };
  if (signal?.aborted === true) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
}

function returned(core: RuntimeCore, call: ServerCall, result: HandlerResult): void {
  call.handler = result;
  call.stages?.record('server.handler_returned', {
    aborted: result.aborted,
    ...(result.kind === 'threw' ? { threw: true } : {}),
  });
  // Both SDKs look at the signal right after the handler and let an aborted result go without a word.
  if (result.aborted) dropReply(core, call);
}

/**
 * Both SDKs take a request out of `_requestHandlerAbortControllers` when handler and send are done: gone without a send
 * is a reply that was let go. SDK 2.x makes a new map when its connection closes.
 */
export function watchControllers(core: RuntimeCore, connection: Connection): void {
  const controllers = read(connection.protocol, '_requestHandlerAbortControllers');
  if (!(controllers instanceof Map) || !isForeign(controllers)) return;
  const known = read(controllers, WATCHED);
  if (known !== undefined) {
    if (isForeign(known)) Object.assign(known, { core, connection });
    return;
  }
  const state = { core, connection };
  const original = controllers.delete.bind(controllers);
  Object.defineProperty(controllers, WATCHED, { value: state });
  Object.defineProperty(controllers, 'delete', {
    configurable: true,
    enumerable: false,
    writable: true,
    value: (key: unknown): boolean => {
      const deleted = original(key);
      state.core.guard('server.controllers', () => {
        const call = callHere(state.core, state.connection, key) ?? state.connection.calls.get(key as never);
        if (call !== undefined && !call.replied) dropReply(state.core, call);
      });
      return deleted;
    },
  });
}
