import type { ChannelEnd } from '@waybill/core';
import { isForeign, read } from '../../patch/foreign.js';

export interface StreamObserver {
  chunk(chunk: Uint8Array): void;
  end(how: ChannelEnd): void;
}

/**
 * The same bytes, pulled one chunk at a time: nothing is read ahead, nothing is kept, a slow reader slows the source as
 * before. Errors and cancellation pass through as they are.
 */
export function tapStream(
  source: ReadableStream<Uint8Array>,
  observer: StreamObserver,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let ended = false;
  const end = (how: ChannelEnd): void => {
    // A stream that is cancelled ends a second time for whoever was waiting for its next chunk.
    if (!ended) observer.end(how);
    ended = true;
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            end('eof');
            controller.close();
          } else {
            observer.chunk(value);
            controller.enqueue(value);
          }
        } catch (error) {
          end(endOf(error));
          controller.error(error);
        }
      },
      cancel(reason) {
        end('aborted');
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** What an error of a body says about its end. undici wraps a broken connection as `terminated` with the cause inside. */
export function endOf(error: unknown): ChannelEnd {
  let current: unknown = error;
  for (let depth = 0; depth < 4 && isForeign(current); depth++) {
    if (read(current, 'code') === 'UND_ERR_BODY_TIMEOUT') return 'body_timeout';
    if (read(current, 'name') === 'AbortError') return 'aborted';
    current = read(current, 'cause');
  }
  return 'reset';
}
