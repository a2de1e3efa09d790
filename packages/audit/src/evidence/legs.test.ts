import { describe, expect, test } from 'vitest';
import { callGroup, spanRow } from './fixtures.test-support.js';
import { clientInput, inflightInput, isRefuted, legOf, serverInput } from './legs.js';
import type { Leg } from './legs.js';
import type { SpanRow } from './rows.js';

const ended = ['client.sent', 'client.result_received'];
const failed = ['client.sent', 'client.failed'];

function leg(client: readonly SpanRow[], server: readonly SpanRow[] = []): Leg {
  return legOf(callGroup(client, server), new Set());
}
function told(outcome: string, attributes: SpanRow['attributes'] = {}, stages = ended): Leg {
  return leg([spanRow('client', stages, { attributes: { 'waybill.outcome': outcome, ...attributes } })]);
}

describe('the client input of one leg', () => {
  test.each([
    ['a success', told('TOOL_SUCCESS'), 'success'],
    [
      'an invalid envelope that the SDK took',
      told('INVALID_ENVELOPE', { 'waybill.sdk.accepted': true }),
      'success',
    ],
    [
      'an invalid result that the SDK took',
      told('INVALID_TOOL_RESULT', { 'waybill.sdk.accepted': true }),
      'success',
    ],
    ['a JSON-RPC error', told('JSONRPC_ERROR'), 'error'],
    ['a tool error', told('TOOL_ERROR'), 'error'],
    ['HTTP 400', told('HTTP_ERROR', { 'http.response.status_code': 400 }, failed), 'error'],
    ['HTTP 403 as text', told('HTTP_ERROR', { 'error.type': '403' }, failed), 'error'],
    [
      'HTTP 404 of a lost session',
      told(
        'HTTP_ERROR',
        { 'http.response.status_code': 404, 'waybill.outcome_reason': 'session_lost' },
        failed,
      ),
      'timeout',
    ],
    ['HTTP 408', told('HTTP_ERROR', { 'http.response.status_code': 408 }, failed), 'timeout'],
    ['HTTP 425', told('HTTP_ERROR', { 'http.response.status_code': 425 }, failed), 'timeout'],
    ['HTTP 429', told('HTTP_ERROR', { 'http.response.status_code': 429 }, failed), 'timeout'],
    ['HTTP 503', told('HTTP_ERROR', { 'http.response.status_code': 503 }, failed), 'timeout'],
    ['an HTTP error of unknown status', told('HTTP_ERROR', {}, failed), 'timeout'],
    ['a timeout', told('TIMEOUT', {}, ['client.sent', 'client.timeout']), 'timeout'],
    ['a cancellation', told('CANCELLED', {}, ['client.sent', 'client.cancelled']), 'timeout'],
    ['a cut stream', told('STREAM_INCOMPLETE', {}, failed), 'timeout'],
    ['malformed JSON', told('MALFORMED_JSON', {}, failed), 'timeout'],
    ['an invalid envelope', told('INVALID_ENVELOPE', {}, failed), 'timeout'],
    ['a reset', told('TRANSPORT_ERROR', { 'waybill.outcome_reason': 'reset' }, failed), 'timeout'],
    [
      'a refused connection',
      told('TRANSPORT_ERROR', { 'waybill.outcome_reason': 'connect' }, failed),
      'not_sent',
    ],
    [
      'a name that does not resolve',
      told('TRANSPORT_ERROR', { 'waybill.outcome_reason': 'dns' }, failed),
      'not_sent',
    ],
    [
      'a refused connection that another emitter reports',
      told(
        'TRANSPORT_ERROR',
        { 'waybill.outcome_reason': 'connect', 'waybill.outcome_source': 'derived' },
        failed,
      ),
      'timeout',
    ],
    ['cancelled before anything was handed over', told('CANCELLED', {}, ['client.cancelled']), 'not_sent'],
    ['a request for input', told('INPUT_REQUIRED'), 'sent_only'],
    ['no outcome, a timeout stage', leg([spanRow('client', ['client.sent', 'client.timeout'])]), 'timeout'],
    ['no outcome, sent', leg([spanRow('client', ['client.sent'])]), 'sent_only'],
    ['no outcome, failed', leg([spanRow('client', failed)]), 'timeout'],
    ['no client side', leg([], [spanRow('server', ['server.received'])]), undefined],
  ] as const)('%s', (_, found, expected) => {
    expect(found.client).toBe(expected);
  });

  test('a lost client.sent is not a call that was never sent', () => {
    const hole = spanRow('client', ['client.cancelled'], { seqs: [2] });
    expect(leg([hole]).client).toBe('timeout');
  });
});

describe('over all legs', () => {
  const timeout = told('TIMEOUT', {}, ['client.sent', 'client.timeout']);
  const refused = told('TRANSPORT_ERROR', { 'waybill.outcome_reason': 'connect' }, failed);
  test.each([
    ['success is the strongest', [timeout, told('TOOL_SUCCESS'), told('TOOL_ERROR')], 'success'],
    ['then an error', [timeout, told('TOOL_ERROR')], 'error'],
    ['a timeout beats a call that was not sent', [refused, timeout], 'timeout'],
    ['not sent only when no leg was', [refused, refused], 'not_sent'],
    ['nothing recorded', [], 'no_trace'],
  ] as const)('%s', (_, legs, expected) => {
    expect(clientInput(legs)).toBe(expected);
  });

  test.each([
    ['none', [], 'none'],
    ['received', ['server.received', 'server.result_sent'], 'received'],
    ['asked for', ['server.received', 'server.effect_requested', 'server.effect_failed'], 'effect_requested'],
    [
      'confirmed',
      ['server.received', 'server.effect_requested', 'server.effect_confirmed'],
      'effect_confirmed',
    ],
  ] as const)('the furthest stage of the server: %s', (_, stages, expected) => {
    const legs = stages.length === 0 ? [timeout] : [leg([], [spanRow('server', stages)]), timeout];
    expect(serverInput(legs)).toBe(expected);
  });

  test.each([
    ['input is wanted', [told('INPUT_REQUIRED')], 'input'],
    ['input was given', [told('INPUT_REQUIRED'), told('TOOL_SUCCESS')], 'none'],
    ['a task is open', [told('TASK_PENDING')], 'attempt'],
    [
      'the server says so and no client was recorded',
      [
        leg(
          [],
          [
            spanRow('server', ['server.received', 'server.result_sent'], {
              attributes: { 'waybill.outcome': 'TASK_PENDING' },
            }),
          ],
        ),
      ],
      'attempt',
    ],
    ['nothing is open', [told('TOOL_SUCCESS')], 'none'],
  ] as const)('in flight: %s', (_, legs, expected) => {
    expect(inflightInput(legs)).toBe(expected);
  });

  test('a call whose end lies beyond the time of the audit is in flight', () => {
    const row = spanRow('client', ['client.sent']);
    expect(inflightInput([legOf(callGroup([row], []), new Set([row]))])).toBe('attempt');
  });
});

describe('responses and replies', () => {
  test.each([
    ['a result', told('TOOL_SUCCESS'), true],
    ['an error', told('JSONRPC_ERROR'), true],
    ['an invalid result is a response', told('INVALID_TOOL_RESULT'), true],
    ['an invalid envelope is none', told('INVALID_ENVELOPE'), false],
    [
      'an invalid envelope that the SDK took',
      told('INVALID_ENVELOPE', { 'waybill.sdk.accepted': true }),
      true,
    ],
    [
      'HTTP 400 with a JSON-RPC error in its body',
      told('HTTP_ERROR', { 'rpc.response.status_code': '-32600' }, failed),
      true,
    ],
    ['HTTP 502', told('HTTP_ERROR', {}, failed), false],
    ['a timeout', told('TIMEOUT', {}, ['client.sent', 'client.timeout']), false],
  ] as const)('%s', (_, found, expected) => {
    expect(found.responded).toBe(expected);
  });

  test('two server spans are two deliveries, a copy of one is not', () => {
    const first = spanRow('server', ['server.received']);
    const second = spanRow('server', ['server.received'], { spanId: 'b000000000000002' });
    expect(leg([], [first, second, { ...first, contested: true }]).deliveries).toHaveLength(2);
  });

  test('a leg that asked for input, or was never handed over nor seen, settled its attempt', () => {
    const refused = { 'waybill.outcome': 'TRANSPORT_ERROR', 'waybill.outcome_reason': 'connect' };
    expect(isRefuted(told('INPUT_REQUIRED'))).toBe(true);
    expect(isRefuted(told('TRANSPORT_ERROR', refused, failed))).toBe(true);
    const fetched = spanRow('client', ['client.sent'], { method: 'tasks/result' });
    expect(isRefuted(leg([fetched], []))).toBe(true);
    const seen = [spanRow('client', failed, { attributes: refused })];
    expect(isRefuted(leg(seen, [spanRow('server', ['server.received'])]))).toBe(false);
  });

  test.each([
    ['a redirect', 307, 'redirect', true],
    ['a token that was asked for', 401, 'sdk', true],
    ['an answer that may have come from in front of the server', 503, 'sdk', false],
    ['the application itself', 401, 'application', false],
  ] as const)(
    'a leg that is sent on by %s settled its attempt, or not: %s %s',
    (_, status, origin, settled) => {
      const answer = { 'waybill.outcome': 'HTTP_ERROR', 'http.response.status_code': status };
      const first = leg([spanRow('client', failed, { attributes: answer })], []);
      const next = told('TOOL_SUCCESS', { 'waybill.retry.origin': origin });
      expect(isRefuted(first, next)).toBe(settled);
      expect(isRefuted(first)).toBe(false);
      const taken = [spanRow('server', ['server.received'])];
      expect(isRefuted(leg(first.call.client, taken), next)).toBe(false);
    },
  );
});
