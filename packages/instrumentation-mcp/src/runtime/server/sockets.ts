import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { read } from '../../patch/foreign.js';

/** The HTTP answer that this asynchronous flow belongs to. Emptied when the answer is over. */
interface Holder {
  response: ServerResponse | undefined;
}

export interface ServerSockets {
  /** The open answer of the HTTP request that is being served here. */
  current(): ServerResponse | undefined;
  stop(): void;
}

const CHANNEL = 'http.server.request.start';

/**
 * Learns which `ServerResponse` a request is answered on, whatever framework serves it. Whoever was created inside a
 * request and outlives it keeps that request's flow: hence the holder, which is emptied on `close`.
 */
export function watchServerSockets(): ServerSockets {
  const storage = new AsyncLocalStorage<Holder>();
  const onStart = (message: unknown): void => {
    const response = read(message, 'response') as ServerResponse | undefined;
    if (response === undefined || typeof response.once !== 'function') return;
    const holder: Holder = { response };
    response.once('close', () => {
      holder.response = undefined;
    });
    storage.enterWith(holder);
  };
  subscribe(CHANNEL, onStart);
  return {
    current: () => {
      const response = storage.getStore()?.response;
      return response === undefined || response.writableEnded || response.destroyed ? undefined : response;
    },
    stop: () => {
      unsubscribe(CHANNEL, onStart);
    },
  };
}
