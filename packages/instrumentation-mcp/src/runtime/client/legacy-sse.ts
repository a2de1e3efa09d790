import { ATTR_STREAM_END, type ChannelEnd, mediaType, openSharedChannel } from '@waybill/core';
import { isForeign, isFunction, read } from '../../patch/foreign.js';
import type { Connection } from '../connection.js';
import type { RuntimeCore } from '../core.js';
import { tapStream } from './stream-tap.js';

/**
 * The answer to the GET of legacy HTTP+SSE (2024-11-05): one stream for the replies of all calls. Its reader takes
 * `response.body` once, so an own property is enough.
 */
export function watchSharedStream(core: RuntimeCore, connection: Connection, response: unknown): void {
  const body = read(response, 'body');
  const get = read(read(response, 'headers'), 'get');
  const contentType: unknown = isFunction(get)
    ? get.call(read(response, 'headers'), 'content-type')
    : undefined;
  if (!isForeign(response) || !(body instanceof ReadableStream)) return;
  if (typeof contentType !== 'string' || mediaType(contentType) !== 'text/event-stream') return;
  const channel = openSharedChannel('sse');
  const again = connection.channel !== undefined;
  connection.channel = channel;
  for (const leg of connection.legs.values()) {
    leg.reading?.attach(channel);
    if (again) leg.stages?.record('client.stream_resumed');
  }
  const tapped = tapStream(body as ReadableStream<Uint8Array>, {
    chunk: (chunk) => {
      core.guard('sse.chunk', () => channel.chunk(chunk));
    },
    end: (how) => {
      core.guard('sse.end', () => {
        channel.end(how);
        streamEnded(connection, how);
      });
    },
  });
  Object.defineProperty(response, 'body', { value: tapped, configurable: true });
}

function streamEnded(connection: Connection, how: ChannelEnd): void {
  for (const leg of connection.legs.values()) {
    if (leg.response === undefined && leg.reading?.outcomeNow()?.outcome === 'STREAM_INCOMPLETE') {
      leg.stages?.record('client.stream_closed', { [ATTR_STREAM_END]: how });
    }
  }
}
