import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOutcome } from '../semconv/index.js';
import { openSharedChannel } from './channel.js';
import { readCall } from './reading.js';
import type { CallContext, CallReading, HttpHead, Settlement, WireTransport } from './types.js';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const head = (status: number, contentType: string | null = null, more: Partial<HttpHead> = {}): HttpHead => ({
  status,
  contentType,
  retryAfter: null,
  sessionSent: false,
  ...more,
});
const begin = (transport: WireTransport = 'http', more: Partial<CallContext> = {}): CallReading => {
  const reading = readCall({ id: 7, transport, protocolVersion: '2025-11-25', ...more });
  reading.handedOver();
  return reading;
};
const result = { jsonrpc: '2.0', id: 7, result: { content: [] } };
const event = (value: unknown, name = 'message'): Uint8Array =>
  bytesOf(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`);
const TIMED_OUT: Settlement = { kind: 'rejected', cause: 'timed_out' };
const ABORTED: Settlement = { kind: 'rejected', cause: 'aborted' };
const RESOLVED: Settlement = { kind: 'resolved' };

describe('a response', () => {
  it('on another stream beats the fate of the POST, and is flagged', () => {
    const reading = begin();
    reading.httpResponse(head(200, 'text/event-stream'));
    reading.channelEnd('eof');
    expect(reading.outcomeNow()?.reason).toBe('closed_before_response');
    reading.message(result, 'other_stream');
    expect(reading.settle(RESOLVED)).toMatchObject({
      outcome: 'TOOL_SUCCESS',
      source: 'wire',
      flags: ['wrong_stream'],
    });
  });

  it('on a resumed stream counts, with the bytes and events of both', () => {
    const reading = begin();
    reading.httpResponse(head(200, 'text/event-stream'));
    reading.sseChunk(bytesOf('id: 1\nretry: 5\ndata: \n\n'));
    reading.channelEnd('eof');
    reading.streamResumed();
    expect(reading.outcomeNow()).toBeUndefined();
    reading.sseChunk(event(result));
    reading.message(result, 'resumed_stream');
    const { outcome, flags, stream } = reading.settle(RESOLVED);
    expect({ outcome, flags }).toEqual({ outcome: 'TOOL_SUCCESS', flags: ['resumed'] });
    expect(stream).toMatchObject({ kind: 'sse', events: 2, bytes: 23 + event(result).length, end: 'result' });
  });

  it('on the GET stream of legacy HTTP+SSE beats a refused POST', () => {
    const reading = begin('legacy_sse');
    reading.message(result, 'other_stream');
    reading.httpResponse(head(503));
    expect(reading.settle(RESOLVED)).toMatchObject({ outcome: 'TOOL_SUCCESS', flags: ['post_leg_error'] });
  });

  it('in the body of a refused POST stays HTTP_ERROR, the code beside it', () => {
    const reading = begin('http', { protocolVersion: '2026-07-28' });
    reading.httpResponse(head(400, 'application/json'));
    reading.message({ jsonrpc: '2.0', id: 7, error: { code: -32602, message: 'bad' } }, 'own_stream');
    expect(reading.settle({ kind: 'rejected', cause: 'rpc_error', code: -32602 })).toMatchObject({
      outcome: 'HTTP_ERROR',
      httpStatus: 400,
      rpcCode: -32602,
      rpcMessage: 'bad',
      flags: [],
    });
  });

  it('delivered out of a JSON body is the same response, not a second one', () => {
    const reading = begin();
    reading.httpResponse(head(200, 'application/json'));
    reading.jsonBody(result);
    reading.message(result, 'own_stream');
    expect(reading.settle(RESOLVED).flags).toEqual([]);
  });

  it('that comes twice is flagged, before and after the settlement', () => {
    const reading = begin();
    reading.message(result, 'own_stream');
    reading.message(result, 'own_stream');
    expect(reading.settle(RESOLVED).flags).toEqual(['duplicate_response']);
    expect(reading.late(result)?.flag).toBe('duplicate_response');
  });

  it('after the settlement is a late one, once; other messages are nothing', () => {
    const reading = begin();
    reading.settle(TIMED_OUT);
    expect(reading.late({ jsonrpc: '2.0', id: 7, method: 'ping' })).toBeUndefined();
    expect(reading.late(result)).toMatchObject({ flag: 'late_result', fact: { outcome: 'TOOL_SUCCESS' } });
    expect(reading.late(result)?.flag).toBe('duplicate_response');
  });
});

describe('a settlement', () => {
  it('by the caller is CANCELLED whatever the stream did', () => {
    const reading = begin();
    reading.httpResponse(head(200, 'text/event-stream'));
    reading.sseChunk(bytesOf('data: {"jsonrpc"'));
    reading.channelEnd('reset');
    expect(reading.settle(ABORTED)).toMatchObject({ outcome: 'CANCELLED', layer: 'client', source: 'local' });
  });

  it('by a timeout says TIMEOUT with headers only, and with body bytes that the stream is open', () => {
    const silent = begin();
    silent.httpResponse(head(200, 'text/event-stream'));
    expect(silent.settle(TIMED_OUT)).toMatchObject({
      outcome: 'TIMEOUT',
      source: 'local',
      stream: { end: 'open' },
    });
    for (const type of ['text/event-stream', 'application/json']) {
      const reading = begin();
      reading.httpResponse(head(200, type));
      if (type === 'application/json') reading.bodyChunk(bytesOf('{"jsonrpc"'));
      else reading.sseChunk(bytesOf(': ka\n\n'));
      reading.channelEnd('aborted');
      expect(reading.settle(TIMED_OUT)).toMatchObject({
        reason: 'open_no_response_at_timeout',
        source: 'wire',
      });
    }
  });

  it('is final: facts and settlements after it change nothing', () => {
    const reading = begin();
    const first = reading.settle(TIMED_OUT);
    reading.httpResponse(head(503));
    reading.message(result, 'own_stream');
    expect(reading.settle(RESOLVED)).toBe(first);
    expect(first.outcome).toBe('TIMEOUT');
  });

  it.each(['output_schema', 'structured_missing'] as const)('by %s is local on a success only', (cause) => {
    const success = begin();
    success.message(result, 'line');
    expect(success.settle({ kind: 'rejected', cause })).toMatchObject({
      outcome: 'INVALID_TOOL_RESULT',
      reason: cause,
      source: 'local',
    });
    const error = begin();
    error.message({ ...result, result: { content: [], isError: true } }, 'line');
    expect(error.settle({ kind: 'rejected', cause })).toMatchObject({
      outcome: 'TOOL_ERROR',
      source: 'wire',
    });
  });

  it('takes the word of the SDK where nothing of the wire was seen, and marks it local', () => {
    expect(
      begin('custom').settle({ kind: 'resolved', result: { content: [], isError: true } }),
    ).toMatchObject({
      outcome: 'TOOL_ERROR',
      source: 'local',
    });
    expect(begin('custom').settle({ kind: 'rejected', cause: 'rpc_error', code: -32000 })).toMatchObject({
      outcome: 'JSONRPC_ERROR',
      rpcCode: -32000,
      source: 'local',
    });
    expect(begin('memory').settle({ kind: 'rejected', cause: 'closed' })).toMatchObject({
      outcome: 'TRANSPORT_ERROR',
      reason: 'closed',
    });
  });
});

describe('an HTTP answer', () => {
  it('is read by its last head, and asks for a delay in milliseconds', () => {
    const reading = begin();
    reading.httpResponse(head(307));
    reading.httpResponse(
      head(429, null, {
        retryAfter: 'Mon, 05 Jan 2026 10:00:30 GMT',
        receivedAtMs: Date.UTC(2026, 0, 5, 10),
      }),
    );
    expect(reading.settle({ kind: 'rejected', cause: 'http_error' })).toMatchObject({
      httpStatus: 429,
      retryAfterMs: 30_000,
    });
  });

  it('to a POST that was sent again takes the place of the failure before it', () => {
    const reading = begin();
    reading.transportFailure({ code: 'ECONNRESET', name: 'Error' });
    reading.httpResponse(head(503));
    expect(reading.settle({ kind: 'rejected', cause: 'http_error' }).outcome).toBe('HTTP_ERROR');
  });

  it('404 means a lost session only when a session was named', () => {
    for (const sessionSent of [true, false]) {
      const reading = begin();
      reading.httpResponse(head(404, null, { sessionSent }));
      expect(reading.outcomeNow()?.reason).toBe(sessionSent ? 'session_lost' : undefined);
    }
  });

  it('202 is a fact only when the call settles without a response, and a body in it is flagged', () => {
    const reading = begin();
    reading.httpResponse(head(202));
    expect(reading.outcomeNow()).toBeUndefined();
    reading.bodyBytes(8);
    expect(reading.settle(TIMED_OUT)).toMatchObject({
      reason: 'accepted_without_response',
      flags: ['accepted_with_body'],
    });
    const legacy = begin('legacy_sse');
    legacy.httpResponse(head(202));
    legacy.bodyBytes(8);
    expect(legacy.settle(TIMED_OUT)).toMatchObject({ outcome: 'TIMEOUT', flags: [] });
  });

  it('before a failed connection takes away the claim that nothing was sent', () => {
    const first = begin();
    first.transportFailure({ code: 'ECONNREFUSED', name: 'Error' });
    expect(first.outcomeNow()?.reason).toBe('connect');
    const second = begin();
    second.httpResponse(head(307));
    second.transportFailure({ code: 'ECONNREFUSED', name: 'Error' });
    expect(second.outcomeNow()).toMatchObject({ outcome: 'TRANSPORT_ERROR', reason: undefined });
  });

  it.each([
    [{ text: '' }, 'empty_body'],
    [{ bytes: 0 }, 'empty_body'],
    [{ text: '{}\n{}' }, 'concatenated'],
    [{ errorMessage: 'Unexpected non-whitespace character after JSON at position 2' }, 'concatenated'],
    [{ text: '{"a":' }, 'syntax'],
    [{ bytes: 5, errorMessage: 'Unexpected end of JSON input' }, 'syntax'],
  ] as const)('whose JSON cannot be read (%j) is MALFORMED_JSON %s', (failure, reason) => {
    const reading = begin();
    reading.httpResponse(head(200, 'application/json'));
    reading.jsonBodyError(failure);
    expect(reading.outcomeNow()).toMatchObject({ outcome: 'MALFORMED_JSON', reason });
  });
});

describe('an event stream', () => {
  const play = (
    chunks: readonly Uint8Array[],
    end: 'eof' | 'reset' | 'body_timeout',
    more: Partial<CallContext> = {},
  ) => {
    const reading = begin('http', more);
    reading.httpResponse(head(200, 'text/event-stream'));
    for (const chunk of chunks) reading.sseChunk(chunk);
    reading.channelEnd(end);
    return reading.settle(TIMED_OUT);
  };
  const error = { jsonrpc: '2.0', id: 7, error: { code: 1, message: 'x' } };
  it.each([
    [
      'a result under another name',
      [event(result, 'other')],
      'eof',
      'undispatched_event',
      ['payload_seen', 'sse_unknown_event'],
    ],
    [
      'a result of another call under another name',
      [event({ ...result, id: 8 }, 'other')],
      'eof',
      'closed_before_response',
      ['sse_unknown_event'],
    ],
    ['JSON without framing', [bytesOf(JSON.stringify(result))], 'eof', 'unframed_body', []],
    [
      'a whole result, then a reset',
      [bytesOf(`data: ${JSON.stringify(result)}`)],
      'reset',
      'unterminated_event',
      ['payload_seen'],
    ],
    ['half an event, then a reset', [bytesOf('data: {"jso')], 'reset', 'reset_mid_event', []],
    ['half an event, then the end', [bytesOf('data: {"jso')], 'eof', 'unterminated_event', []],
    ['a name alone, then the end', [bytesOf('event: message\n')], 'eof', 'closed_before_response', []],
    ['comments, then a reset', [bytesOf(': a\n\n')], 'reset', 'reset', []],
    ['comments, then a body timeout', [bytesOf(': a\n\n')], 'body_timeout', 'body_timeout', []],
  ] as const)('%s: %4$s', (_what, chunks, end, reason, flags) => {
    expect(play(chunks, end)).toMatchObject({ outcome: 'STREAM_INCOMPLETE', reason, flags });
  });

  it.each([
    ['no JSON', [bytesOf('data: {oops\n\n')], 'MALFORMED_JSON', 'syntax'],
    ['two documents', [bytesOf('data: {}{}\n\n')], 'MALFORMED_JSON', 'concatenated'],
    ['both members', [event({ ...result, error: null })], 'INVALID_ENVELOPE', 'both_members'],
    ['another id', [event({ ...result, id: 8 })], 'INVALID_ENVELOPE', 'id_mismatch'],
    ['the id as text', [event({ ...result, id: '7' })], 'INVALID_ENVELOPE', 'id_type_mismatch'],
    ['no version', [event({ id: 7, result: {} })], 'INVALID_ENVELOPE', 'not_jsonrpc'],
    ['a batch', [event([result])], 'INVALID_ENVELOPE', 'batch'],
    ['an error that the SDK refused', [event(error)], 'JSONRPC_ERROR', undefined],
    ['a result that is no object', [event({ ...result, result: [] })], 'INVALID_TOOL_RESULT', 'not_object'],
  ] as const)(
    'that says %s in an event which the SDK could not use is read from its bytes',
    (_what, chunks, outcome, reason) => {
      expect(play(chunks, 'eof')).toMatchObject({ outcome, reason, source: 'wire' });
    },
  );

  it('says nothing of its end while a response in it is on its way through the parser', () => {
    const reading = begin();
    reading.httpResponse(head(200, 'text/event-stream'));
    reading.sseChunk(event(result));
    reading.channelEnd('eof');
    expect(reading.outcomeNow()).toBeUndefined();
    reading.message(result, 'own_stream');
    expect(reading.outcomeNow()?.outcome).toBe('TOOL_SUCCESS');
  });

  it('with an event over the limit is incomplete for that reason', () => {
    expect(play([event({ ...result, pad: 'x'.repeat(100) })], 'eof', { maxEventBytes: 64 }).reason).toBe(
      'event_over_limit',
    );
  });

  it('counts the progress of this call only', () => {
    const reading = begin();
    for (const progressToken of [7, 7, 8]) {
      reading.message(
        { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken } },
        'own_stream',
      );
    }
    expect(reading.settle(TIMED_OUT).progressEvents).toBe(2);
  });
});

describe('a shared channel', () => {
  it('gives an unfinished line to the call whose id it carries, and to no other', () => {
    const channel = openSharedChannel('line');
    const mine = begin('stdio');
    const other = begin('stdio', { id: 8 });
    for (const reading of [mine, other]) reading.attach(channel);
    channel.chunk(bytesOf('{"jsonrpc":"2.0","id":7,"resul'));
    expect(mine.settle(TIMED_OUT)).toMatchObject({ outcome: 'STREAM_INCOMPLETE', reason: 'partial_line' });
    expect(other.settle(TIMED_OUT)).toMatchObject({ outcome: 'TIMEOUT' });
  });

  it('gives a line that had begun before the call to no call that came later', () => {
    const channel = openSharedChannel('line');
    channel.chunk(bytesOf('{"jsonrpc":"2.0",'));
    const reading = begin('stdio');
    reading.attach(channel);
    channel.chunk(bytesOf('"x":1'));
    expect(reading.settle(TIMED_OUT).outcome).toBe('TIMEOUT');
  });

  it('takes print-outs on stdout for what they are', () => {
    for (const noise of ['Debug: x\n', '[info] x\n', 'Debug: half a line', '\n\n']) {
      const channel = openSharedChannel('line');
      const reading = begin('stdio');
      reading.attach(channel);
      channel.chunk(bytesOf(noise));
      expect(reading.settle(TIMED_OUT).outcome).toBe('TIMEOUT');
    }
  });

  it('that closed with no reply begun is TRANSPORT_ERROR, also when the SDK waited on', () => {
    const channel = openSharedChannel('line');
    const reading = begin('stdio');
    reading.attach(channel);
    channel.end('eof');
    expect(reading.settle(TIMED_OUT)).toMatchObject({
      outcome: 'TRANSPORT_ERROR',
      reason: 'closed',
      stream: { end: 'eof' },
    });
  });

  it('that was opened again does not undo the end that the reply was lost on', () => {
    const [first, second] = [openSharedChannel('sse'), openSharedChannel('sse')];
    const reading = begin('legacy_sse');
    reading.attach(first);
    reading.httpResponse(head(202));
    first.chunk(bytesOf('data: {"jsonrpc"'));
    first.end('reset');
    reading.attach(second);
    second.chunk(bytesOf('event: endpoint\ndata: /x\n\n'));
    expect(reading.settle(TIMED_OUT).reason).toBe('reset_mid_event');
  });

  it('forgets a call that has settled', () => {
    let observers = 0;
    const channel = openSharedChannel('line');
    const reading = begin('stdio');
    reading.attach({
      ...channel,
      observe: (observer) => {
        const leave = channel.observe(observer);
        observers++;
        return () => {
          leave();
          observers--;
        };
      },
    });
    expect(observers).toBe(1);
    reading.settle(TIMED_OUT);
    expect(observers).toBe(0);
  });
});

describe('whatever comes, in whatever order', () => {
  const anything = fc.oneof(
    fc.anything(),
    fc.constantFrom<unknown>(
      result,
      [result],
      { ...result, id: '7' },
      new Proxy({}, { get: () => expect.fail() }),
    ),
  );
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc
      .constantFrom(
        'data: {"jsonrpc":"2.0","id":7,',
        '\n',
        '\n\n',
        '"result":{}}',
        ': x\n',
        '\uFEFF',
        'event: o\n',
      )
      .map(bytesOf),
  );
  const fact = fc.oneof(
    fc.record({
      call: fc.constant('httpResponse' as const),
      status: fc.integer(),
      contentType: fc.option(fc.string()),
    }),
    fc.record({ call: fc.constant('message' as const), value: anything }),
    fc.record({ call: fc.constant('jsonBody' as const), value: anything }),
    fc.record({ call: fc.constant('jsonBodyError' as const), text: fc.string() }),
    fc.record({ call: fc.constant('errorBody' as const), text: fc.oneof(fc.string(), fc.json()) }),
    fc.record({ call: fc.constantFrom('sseChunk' as const, 'bodyChunk' as const, 'shared' as const), bytes }),
    fc.record({
      call: fc.constant('channelEnd' as const),
      how: fc.constantFrom('eof' as const, 'reset' as const, 'aborted' as const),
    }),
    fc.record({
      call: fc.constantFrom(
        'streamResumed' as const,
        'transportFailure' as const,
        'outcomeNow' as const,
        'late' as const,
      ),
    }),
  );
  const transport = fc.constantFrom<WireTransport>('http', 'legacy_sse', 'stdio', 'memory', 'custom');
  const cause = fc.constantFrom(
    'timed_out' as const,
    'aborted' as const,
    'closed' as const,
    'other' as const,
  );

  it('nothing throws and there is one outcome of the vocabulary', () => {
    fc.assert(
      fc.property(transport, fc.array(fact, { maxLength: 30 }), cause, (kind, facts, why) => {
        const reading = begin(kind);
        const channel = openSharedChannel(kind === 'stdio' ? 'line' : 'sse');
        if (kind === 'stdio' || kind === 'legacy_sse') reading.attach(channel);
        for (const f of facts) {
          switch (f.call) {
            case 'httpResponse':
              reading.httpResponse(head(f.status, f.contentType));
              break;
            case 'message':
              reading.message(f.value, 'own_stream');
              break;
            case 'jsonBody':
              reading.jsonBody(f.value);
              break;
            case 'jsonBodyError':
              reading.jsonBodyError({ text: f.text });
              break;
            case 'errorBody':
              reading.errorBody(f.text);
              break;
            case 'sseChunk':
            case 'bodyChunk':
              reading[f.call](f.bytes);
              break;
            case 'shared':
              channel.chunk(f.bytes);
              break;
            case 'channelEnd':
              reading.channelEnd(f.how);
              break;
            case 'transportFailure':
              reading.transportFailure({ code: undefined, name: undefined });
              break;
            case 'late':
              reading.late(result);
              break;
            case 'streamResumed':
            case 'outcomeNow':
              reading[f.call]();
              break;
            default:
              f satisfies never;
          }
        }
        const outcome = reading.settle({ kind: 'rejected', cause: why });
        expect(isOutcome(outcome.outcome)).toBe(true);
        expect(new Set(outcome.flags).size).toBe(outcome.flags.length);
      }),
      { numRuns: 3000 },
    );
  });

  it('an event of 64 MB leaves nothing behind that grows with it', () => {
    const reading = begin();
    reading.httpResponse(head(200, 'text/event-stream'));
    reading.sseChunk(bytesOf('data: {"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"'));
    const chunk = new Uint8Array(65_536).fill(0x41);
    const before = process.memoryUsage();
    for (let i = 0; i < 1024; i++) reading.sseChunk(chunk);
    const after = process.memoryUsage();
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(1_000_000);
    expect(after.heapUsed - before.heapUsed).toBeLessThan(16_000_000);
    reading.channelEnd('reset');
    expect(reading.settle(TIMED_OUT)).toMatchObject({ reason: 'reset_mid_event', stream: { events: 0 } });
  });
});
