import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { read, readString } from '../../patch/foreign.js';

/**
 * One HTTP answer. `finished`: the socket took its last byte. `cut`: the connection was gone before. Node emits `finish`
 * also for an answer that was ended after its socket had died, and for one whose last write failed: what decides is
 * whether the socket lives when the event is over.
 */
export interface HttpAnswer {
  /** The other end of the socket: the client, or the proxy before this server. */
  readonly peer: Peer | undefined;
  state(): 'open' | 'finished' | 'cut';
  /** Calls `listener` when the answer is over, at once when it is. Returns how to stop. */
  onOver(listener: () => void): () => void;
}

export interface Peer {
  /** An IPv4 address without the `::ffff:` of a socket that takes both. */
  readonly address: string;
  readonly port: number | undefined;
}

/** The HTTP answer that this asynchronous flow belongs to. Emptied when the answer is over. */
interface Holder {
  answer: HttpAnswer | undefined;
}

export interface ServerSockets {
  /** The open answer of the HTTP request that is being served here. */
  current(): HttpAnswer | undefined;
  stop(): void;
}

const CHANNEL = 'http.server.request.start';

/**
 * Learns which `ServerResponse` a request is answered on, whatever framework serves it. Whoever was created inside a
 * request and outlives it keeps that request's flow: hence the holder, which is emptied on `close`.
 */
export function watchServerSockets(isEnabled: () => boolean): ServerSockets {
  const storage = new AsyncLocalStorage<Holder>();
  const onStart = (message: unknown): void => {
    if (!isEnabled()) return;
    const response = read(message, 'response') as ServerResponse | undefined;
    if (response === undefined || typeof response.once !== 'function') return;
    const holder: Holder = { answer: undefined };
    try {
      holder.answer = watchAnswer(response, read(read(message, 'request'), 'socket'), () => {
        holder.answer = undefined;
      });
    } catch {
      // A response class of the application's own: what a subscriber of a channel throws would end the process.
      return;
    }
    storage.enterWith(holder);
  };
  subscribe(CHANNEL, onStart);
  return {
    current: () => storage.getStore()?.answer,
    stop: () => {
      unsubscribe(CHANNEL, onStart);
    },
  };
}

/** Read at once: a socket that is closed has no address any more. */
function peerOf(socket: unknown): Peer | undefined {
  const address = readString(socket, 'remoteAddress');
  const port = read(socket, 'remotePort');
  if (address === undefined) return undefined;
  return {
    address: address.replace(/^::ffff:(?=\d+\.)/i, ''),
    port: typeof port === 'number' ? port : undefined,
  };
}

function watchAnswer(response: ServerResponse, socket: unknown, over: () => void): HttpAnswer {
  const peer = peerOf(socket);
  let state: ReturnType<HttpAnswer['state']> = 'open';
  const listeners = new Set<() => void>();
  const end = (how: 'finished' | 'cut'): void => {
    if (state !== 'open') return;
    state = how;
    for (const listener of listeners) listener();
    listeners.clear();
  };
  let ended = false;
  const decide = (): void => {
    end(ended && read(socket, 'destroyed') !== true ? 'finished' : 'cut');
  };
  response.once('finish', () => {
    ended = !response.destroyed;
    // A last write that failed is a `finish` too: its socket is destroyed right after the event.
    process.nextTick(decide);
  });
  response.once('close', () => {
    decide();
    over();
  });
  return {
    peer,
    state: () => state,
    onOver: (listener) => {
      if (state === 'open') listeners.add(listener);
      else listener();
      return () => {
        listeners.delete(listener);
      };
    },
  };
}
