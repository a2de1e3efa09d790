import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** `to_server`: what the client sends; `to_client`: what the server replies. */
export type Direction = 'to_server' | 'to_client';

/**
 * How a cut looks from the client: `fin` closes the connection in the middle of whatever it carried, `rst` resets it,
 * `end_body` ends a chunked body in due form before closing, as an HTTP proxy does that has lost patience with its
 * upstream.
 */
export type CutForm = 'fin' | 'rst' | 'end_body';

/** What a cut does to the connection to the server. */
export type Upstream = 'close' | 'drain';

export interface CutPlan {
  readonly form: CutForm;
  /** Whose bytes `afterBytes` counts. Default `to_client`; events are those of replies. */
  readonly direction?: Direction;
  /** Cut as soon as this many bytes of one connection were passed on (0: before the first). */
  readonly afterBytes?: number;
  /** Cut as soon as this many server-sent events (blank lines of the body) were passed on. */
  readonly afterEvents?: number;
  /** Default `close`. */
  readonly upstream?: Upstream;
}

export interface CuttingProxyOptions {
  readonly target: { readonly host?: string; readonly port: number };
  /** Milliseconds by which every chunk of a direction is delayed. */
  readonly delayMs?: Readonly<Partial<Record<Direction, number>>>;
}

export interface CuttingProxy {
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Connections that are open now. */
  readonly connections: number;
  /** Connections that were taken since the start. */
  readonly accepted: number;
  /** Resolves when bytes of a direction are first held back; at once if some are held already. */
  readonly held: (direction: Direction) => Promise<void>;
  /** From now on bytes of this direction are kept back, on open and on new connections. */
  hold(direction: Direction): void;
  /** Passes on what was kept back, and everything that follows. */
  release(direction: Direction): void;
  /** Forgets what was kept back, closes the connections that it belonged to, and passes on what follows. */
  drop(direction: Direction): void;
  /**
   * Cuts every open connection now.
   *
   * @param upstream `close` (default): the server learns of it as of any lost client. `drain`: the proxy goes on taking
   *   the server's reply and throws it away, as a buffering proxy does; the server believes that it was delivered.
   */
  cutNow(form: CutForm, upstream?: Upstream): void;
  /** Cuts once, on the first connection that meets the plan. Undefined takes the plan back. */
  plan(plan: CutPlan | undefined): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  readonly kept: Record<Direction, Buffer[]>;
  readonly bytes: Record<Direction, number>;
  replyEvents: number;
  headPassed: boolean;
  tail: string;
  /** The client is cut off, and what the server still sends goes nowhere. */
  draining: boolean;
}

/**
 * A TCP proxy on 127.0.0.1 that fails on command: it holds, drops and cuts bytes, in the one direction or the other.
 * It knows nothing of HTTP but where a chunked body ends and where an event does.
 */
export async function startCuttingProxy(options: CuttingProxyOptions): Promise<CuttingProxy> {
  const pairs = new Set<Pair>();
  const holding: Record<Direction, boolean> = { to_server: false, to_client: false };
  const waiting: Record<Direction, (() => void)[]> = { to_server: [], to_client: [] };
  let cutPlan: CutPlan | undefined;
  let accepted = 0;

  const server = createServer({ allowHalfOpen: true }, (client) => {
    accepted += 1;
    const upstream = connect({
      host: options.target.host ?? '127.0.0.1',
      port: options.target.port,
      allowHalfOpen: true,
    });
    const pair: Pair = {
      client,
      server: upstream,
      kept: { to_server: [], to_client: [] },
      bytes: { to_server: 0, to_client: 0 },
      replyEvents: 0,
      headPassed: false,
      tail: '',
      draining: false,
    };
    pairs.add(pair);
    relay(pair, 'to_server', client, upstream);
    relay(pair, 'to_client', upstream, client);
  });

  function relay(pair: Pair, direction: Direction, from: Socket, to: Socket): void {
    from.setNoDelay(true);
    from.on('data', (chunk: Buffer) => {
      const delay = options.delayMs?.[direction] ?? 0;
      if (delay === 0) pass(pair, direction, chunk);
      else setTimeout(() => pass(pair, direction, chunk), delay);
    });
    from.on('end', () => {
      if (pair.kept[direction].length === 0 && !pair.draining) to.end();
      if (pair.draining) from.destroy();
    });
    const drained = (): boolean => pair.draining && direction === 'to_server';
    from.on('error', () => drained() || to.destroy());
    from.on('close', () => {
      if (drained()) return;
      to.destroy();
      pairs.delete(pair);
    });
  }

  function pass(pair: Pair, direction: Direction, chunk: Buffer): void {
    if (holding[direction]) {
      pair.kept[direction].push(chunk);
      for (const resolve of waiting[direction].splice(0)) resolve();
      return;
    }
    const to = direction === 'to_server' ? pair.server : pair.client;
    if (to.destroyed || pair.draining) return;
    if (cutPlan === undefined || direction !== (cutPlan.direction ?? 'to_client')) to.write(chunk);
    else passUntilCut(pair, direction, chunk, cutPlan);
  }

  function passUntilCut(pair: Pair, direction: Direction, chunk: Buffer, plan: CutPlan): void {
    const to = direction === 'to_server' ? pair.server : pair.client;
    let keep = chunk.length;
    if (plan.afterBytes !== undefined) {
      keep = Math.min(keep, Math.max(0, plan.afterBytes - pair.bytes[direction]));
    }
    if (plan.afterEvents !== undefined) keep = Math.min(keep, eventBoundary(pair, chunk, plan.afterEvents));
    pair.bytes[direction] += keep;
    const met =
      (plan.afterBytes !== undefined && pair.bytes[direction] >= plan.afterBytes) ||
      (plan.afterEvents !== undefined && pair.replyEvents >= plan.afterEvents);
    if (met) cutPlan = undefined;
    // What was passed on must have left before the connection is closed behind it.
    if (keep > 0) to.write(chunk.subarray(0, keep), () => met && cut(pair, plan.form, plan.upstream));
    else if (met) cut(pair, plan.form, plan.upstream);
  }

  /**
   * Offset just behind the wanted event (and the line end of the chunk that carried it), or the whole length. Counts
   * events on the way; the blank line behind the response head is none.
   */
  function eventBoundary(pair: Pair, chunk: Buffer, wanted: number): number {
    for (let index = 0; index < chunk.length; index += 1) {
      pair.tail = (pair.tail + String.fromCharCode(chunk[index] ?? 0)).slice(-4);
      if (!/\n\n$|\r\n\r\n$/.test(pair.tail)) continue;
      pair.tail = '';
      if (!pair.headPassed) {
        pair.headPassed = true;
        continue;
      }
      pair.replyEvents += 1;
      if (pair.replyEvents < wanted) continue;
      return chunk[index + 1] === 13 && chunk[index + 2] === 10 ? index + 3 : index + 1;
    }
    return chunk.length;
  }

  function cut(pair: Pair, form: CutForm, upstream: Upstream = 'close'): void {
    pair.draining = upstream === 'drain';
    if (!pair.draining) pairs.delete(pair);
    switch (form) {
      case 'rst':
        pair.client.resetAndDestroy();
        break;
      case 'fin':
        pair.client.end();
        break;
      case 'end_body':
        pair.client.end('0\r\n\r\n');
        break;
    }
    if (!pair.draining) pair.server.destroy();
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    port,
    url: `http://127.0.0.1:${port}`,
    get connections() {
      return pairs.size;
    },
    get accepted() {
      return accepted;
    },
    held(direction) {
      for (const pair of pairs) if (pair.kept[direction].length > 0) return Promise.resolve();
      return new Promise((resolve) => waiting[direction].push(resolve));
    },
    hold(direction) {
      holding[direction] = true;
    },
    release(direction) {
      holding[direction] = false;
      for (const pair of pairs) {
        for (const chunk of pair.kept[direction].splice(0)) pass(pair, direction, chunk);
        const from = direction === 'to_server' ? pair.client : pair.server;
        if (from.readableEnded) (direction === 'to_server' ? pair.server : pair.client).end();
      }
    },
    drop(direction) {
      holding[direction] = false;
      for (const pair of pairs) if (pair.kept[direction].splice(0).length > 0) cut(pair, 'fin');
    },
    cutNow(form, upstream) {
      for (const pair of pairs) if (!pair.draining) cut(pair, form, upstream);
    },
    plan(plan) {
      cutPlan = plan;
    },
    async close() {
      for (const pair of pairs) {
        pair.client.destroy();
        pair.server.destroy();
      }
      server.close();
      await once(server, 'close');
    },
  };
}
