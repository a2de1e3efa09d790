import { describe, expect, it } from 'vitest';
import { classifyResponse, readMessage } from './classify.js';
import { mediaType } from './media-type.js';
import { parseRetryAfter } from './retry-after.js';
import { transportCause, transportReason } from './transport-failure.js';
import { readCall } from './reading.js';

const now = { id: 1, protocolVersion: '2026-07-28' };
const text = [{ type: 'text', text: 'ok' }];
const good = { jsonrpc: '2.0', id: 1, result: { resultType: 'complete', content: text, isError: false } };
const withResult = (result: unknown): unknown => ({ jsonrpc: '2.0', id: 1, result });

describe('the eleven synthetic replies of the layers article', () => {
  const rpcError = { code: -32602, message: 'Invalid params' };
  it.each([
    ['a complete result', 200, good, 'TOOL_SUCCESS'],
    ['a 503', 503, { note: 'outage' }, 'HTTP_ERROR'],
    ['the 200 of a second POST', 200, good, 'TOOL_SUCCESS'],
    ['a JSON-RPC error under 200', 200, { jsonrpc: '2.0', id: 1, error: rpcError }, 'JSONRPC_ERROR'],
    ['isError', 200, withResult({ content: text, isError: true }), 'TOOL_ERROR'],
    ['a success body under 500', 500, good, 'HTTP_ERROR'],
    ['no JSON', 200, '{unclosed', 'MALFORMED_JSON'],
    ['result and error together', 200, { ...good, error: rpcError }, 'INVALID_ENVELOPE'],
    ['another id', 200, { ...good, id: 99 }, 'INVALID_ENVELOPE'],
    [
      'input_required',
      200,
      withResult({ resultType: 'input_required', inputRequests: {} }),
      'INPUT_REQUIRED',
    ],
    ['a result without resultType', 200, withResult({ content: text, isError: false }), 'TOOL_SUCCESS'],
    ['content that is no array', 200, withResult({ content: 'not-an-array' }), 'INVALID_TOOL_RESULT'],
  ])('%s (%i) is read as %4$s', (_what, status, body, outcome) => {
    const reading = readCall({ id: 1, transport: 'http', protocolVersion: '2026-07-28' });
    reading.handedOver();
    reading.httpResponse({ status, contentType: 'application/json', retryAfter: null, sessionSent: false });
    if (typeof body === 'string') reading.jsonBodyError({ text: body });
    else if (status === 200) reading.jsonBody(body);
    expect(reading.settle({ kind: 'rejected', cause: 'other' }).outcome).toBe(outcome);
  });
});

describe('classifyResponse', () => {
  const error = (value: unknown): unknown => ({ jsonrpc: '2.0', id: 1, error: value });
  it.each([
    [null, 'INVALID_ENVELOPE', 'not_jsonrpc'],
    ['text', 'INVALID_ENVELOPE', 'not_jsonrpc'],
    [{}, 'INVALID_ENVELOPE', 'not_jsonrpc'],
    [{ id: 1, result: {} }, 'INVALID_ENVELOPE', 'not_jsonrpc'],
    [{ jsonrpc: 2, id: 1, result: {} }, 'INVALID_ENVELOPE', 'not_jsonrpc'],
    [{ jsonrpc: '2.0', id: 1 }, 'INVALID_ENVELOPE', 'not_jsonrpc'],
    [{ jsonrpc: '2.0', id: 1, method: 'ping', result: {} }, 'INVALID_ENVELOPE', 'not_jsonrpc'],
    [[good], 'INVALID_ENVELOPE', 'batch'],
    [{ ...good, id: '1' }, 'INVALID_ENVELOPE', 'id_type_mismatch'],
    [{ ...good, id: 0 }, 'INVALID_ENVELOPE', 'id_mismatch'],
    [{ ...good, id: null }, 'INVALID_ENVELOPE', 'id_mismatch'],
    [{ jsonrpc: '2.0', result: {} }, 'INVALID_ENVELOPE', 'id_mismatch'],
    [{ ...good, error: null }, 'INVALID_ENVELOPE', 'both_members'],
    [{ jsonrpc: '2.0', id: 1, result: null, error: null }, 'INVALID_ENVELOPE', 'both_members'],
    [error(null), 'INVALID_ENVELOPE', 'error_shape'],
    [error({ code: '1', message: 'x' }), 'INVALID_ENVELOPE', 'error_shape'],
    [error({ code: 1.5, message: 'x' }), 'INVALID_ENVELOPE', 'error_shape'],
    [error({ code: 1 }), 'INVALID_ENVELOPE', 'error_shape'],
    [error({ code: 0, message: '' }), 'JSONRPC_ERROR', undefined],
    [withResult(null), 'INVALID_TOOL_RESULT', 'not_object'],
    [withResult([]), 'INVALID_TOOL_RESULT', 'not_object'],
    [withResult({}), 'INVALID_TOOL_RESULT', 'content'],
    [withResult({ toolResult: { content: [] } }), 'INVALID_TOOL_RESULT', 'content'],
    [withResult({ content: [], isError: 'true' }), 'INVALID_TOOL_RESULT', 'is_error'],
    [withResult({ content: [], isError: null }), 'INVALID_TOOL_RESULT', 'is_error'],
    [withResult({ content: [], resultType: 'partial' }), 'INVALID_TOOL_RESULT', 'result_type'],
    [withResult({ content: [], resultType: null }), 'INVALID_TOOL_RESULT', 'result_type'],
    [withResult({ resultType: 'input_required' }), 'INVALID_TOOL_RESULT', 'result_type'],
    [withResult({ resultType: 'input_required', requestState: 's' }), 'INPUT_REQUIRED', undefined],
    [withResult({ resultType: 'task', taskId: 't' }), 'TASK_PENDING', undefined],
    [withResult({ resultType: 'task' }), 'INVALID_TOOL_RESULT', 'result_type'],
    [withResult({ task: { taskId: 't', status: 'working' } }), 'TASK_PENDING', undefined],
    [withResult({ task: {} }), 'INVALID_TOOL_RESULT', 'content'],
    [withResult({ content: [] }), 'TOOL_SUCCESS', undefined],
    [withResult({ content: [], isError: true }), 'TOOL_ERROR', undefined],
  ])('%j is %s %s', (message, outcome, reason) => {
    expect(classifyResponse(message, now).fact).toMatchObject({ outcome, reason });
  });

  it('takes only own members for the envelope', () => {
    const inherited: unknown = Object.assign(
      Object.create({ error: { code: 1, message: 'x' } }) as object,
      good,
    );
    expect(classifyResponse(inherited, now).fact.outcome).toBe('TOOL_SUCCESS');
  });

  it.each([
    ['2024-11-05', 'structured'],
    ['2025-11-25', 'structured'],
    ['2026-07-28', undefined],
    ['2027-01-01', undefined],
    ['DRAFT-2026-v1', undefined],
    [undefined, undefined],
  ])('asks for an object as structuredContent before 2026-07-28: %s', (protocolVersion, reason) => {
    for (const structuredContent of [[1], 'x', 3, null]) {
      expect(
        classifyResponse(withResult({ content: [], structuredContent }), { id: 1, protocolVersion }).fact
          .reason,
      ).toBe(reason);
    }
  });

  it('takes a batch apart in 2025-03-26 only', () => {
    const batch = [{ jsonrpc: '2.0', method: 'notifications/message' }, { ...good, id: 2 }, good];
    expect(classifyResponse(batch, { id: 1, protocolVersion: '2025-03-26' }).fact.outcome).toBe(
      'TOOL_SUCCESS',
    );
    expect(classifyResponse(batch, { id: 3, protocolVersion: '2025-03-26' }).fact.reason).toBe('id_mismatch');
    expect(classifyResponse([], { id: 1, protocolVersion: '2025-03-26' }).fact.reason).toBe('not_jsonrpc');
    for (const protocolVersion of ['2024-11-05', '2025-06-18', undefined]) {
      expect(classifyResponse(batch, { id: 1, protocolVersion }).fact.reason).toBe('batch');
    }
  });

  it('never looks into content, structuredContent or data: the size of a result costs nothing', () => {
    const untouchable = (target: object): object =>
      new Proxy(target, {
        get: () => expect.fail('the result was walked'),
        ownKeys: () => expect.fail('the result was walked'),
      });
    const result = { content: untouchable([]), structuredContent: untouchable({}), _meta: untouchable({}) };
    expect(classifyResponse(withResult(result), now).fact.outcome).toBe('TOOL_SUCCESS');
  });
});

describe('readMessage', () => {
  it.each([
    [{ jsonrpc: '2.0', id: 1, method: 'ping' }, 'request'],
    [{ jsonrpc: '2.0', method: 'notifications/progress' }, 'notification'],
    [{ type: 'heartbeat' }, 'foreign'],
    [good, 'response'],
    [{ ...good, id: 2 }, 'misaddressed'],
    [[], 'batch'],
  ])('%j is a %s', (message, kind) => {
    expect(readMessage(message, now).kind).toBe(kind);
  });
});

describe('mediaType', () => {
  it.each([
    ['Application/JSON; charset=UTF-8', 'application/json'],
    [' text/event-stream;charset=utf-8', 'text/event-stream'],
    ['text/plain', 'text/plain'],
    ['', undefined],
    ['json', undefined],
    ['application/json, text/event-stream', undefined],
    [null, undefined],
  ])('%j is %s', (header, essence) => {
    expect(mediaType(header)).toBe(essence);
  });
});

describe('parseRetryAfter', () => {
  const nowMs = Date.UTC(2026, 0, 5, 10, 0, 0);
  it.each([
    ['2', 2000],
    [' 0 ', 0],
    ['1.5', undefined],
    ['-1', undefined],
    ['99999999999999999999', undefined],
    ['soon', undefined],
    ['2026-01-05', undefined],
    [null, undefined],
    ['Mon, 05 Jan 2026 10:00:30 GMT', 30_000],
    ['Monday, 05-Jan-26 10:00:30 GMT', 30_000],
    ['Mon Jan  5 10:00:30 2026', 30_000],
    ['Mon, 05 Jan 2026 09:00:00 GMT', 0],
    ['Mon, 99 Jan 2026 09:00:00 GMT', undefined],
  ])('%j is %s ms', (header, delay) => {
    expect(parseRetryAfter(header, nowMs)).toBe(delay);
  });
  it('cannot turn a date into a delay without the time of arrival', () => {
    expect(parseRetryAfter('Mon, 05 Jan 2026 10:00:30 GMT')).toBeUndefined();
  });
});

describe('transport failures', () => {
  it.each([
    ['ECONNREFUSED', undefined, 'connect'],
    ['UND_ERR_CONNECT_TIMEOUT', undefined, 'connect'],
    ['ETIMEDOUT', 'connect', 'connect'],
    ['ETIMEDOUT', 'read', 'reset'],
    ['EHOSTUNREACH', undefined, 'reset'],
    ['ENOTFOUND', 'getaddrinfo', 'dns'],
    ['EAI_AGAIN', undefined, 'dns'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', undefined, 'tls'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', undefined, 'tls'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', undefined, 'tls'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', undefined, 'reset'],
    ['ECONNRESET', 'read', 'reset'],
    ['UND_ERR_SOCKET', undefined, 'reset'],
    ['UND_ERR_HEADERS_TIMEOUT', undefined, 'headers_timeout'],
    ['ERR_INVALID_URL', undefined, undefined],
    [undefined, undefined, undefined],
  ])('%s in %s is %s', (code, syscall, reason) => {
    expect(transportReason({ code, name: undefined, syscall }, 'http')).toBe(reason);
  });

  it('are `closed` on a pipe, whatever the code', () => {
    expect(transportReason({ code: 'EPIPE', name: undefined }, 'stdio')).toBe('closed');
  });

  it('are read from the cause, and from the first of several addresses', () => {
    const one = Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect' });
    const several = Object.assign(new AggregateError([one]), { code: 'ECONNREFUSED' });
    for (const cause of [one, several]) {
      expect(transportCause(new TypeError('fetch failed', { cause }))).toEqual({
        code: 'ECONNREFUSED',
        name: 'TypeError',
        syscall: 'connect',
      });
    }
  });

  it('are read from anything without a throw, also from a ring of causes', () => {
    const ring = new Error('a');
    ring.cause = ring;
    const hostile = new Proxy({}, { get: () => expect.fail('accessor') });
    for (const thrown of [undefined, null, 'x', 3, {}, ring, hostile]) {
      expect(transportCause(thrown)).toMatchObject({ code: undefined });
    }
  });
});
