import { withOperation } from '@waybill/api';
import { META_OPERATION_ID } from '@waybill/core';
import { describe, expect, it } from 'vitest';
import { outcomeOfError, outcomeOfResult } from './outcome-of-error.js';
import { retryAdvice, retrying } from './retrying.js';
import type { RetryingOptions } from './retrying.js';
import type { RetryOutcome } from './types.js';

interface Params {
  name: string;
  _meta?: Record<string, unknown>;
  arguments?: Record<string, unknown>;
}
const ok = { content: [] };
const coded = (code: number | string, name = 'McpError', data?: unknown): Error =>
  Object.assign(new Error(name), { name, code, data });
const fetchFailed = (code: string, syscall?: string): Error =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code, syscall }) });

/** A client that plays a script, with a private member as real clients have. */
class Scripted {
  readonly seen: Params[] = [];
  readonly #script: unknown[];
  constructor(...script: unknown[]) {
    this.#script = script;
  }
  async callTool(params: Params, _schema?: unknown, _options?: { signal?: AbortSignal }): Promise<unknown> {
    this.seen.push(params);
    const next = this.#script.shift();
    if (next instanceof Error) throw next;
    return next;
  }
  remaining(): number {
    return this.#script.length;
  }
}
const fast: RetryingOptions = {
  tool: (name) => ({
    effectKind: name === 'search' ? 'read' : 'write',
    contract: { baseDelayMs: 1, deduplicates: name === 'keyed' },
  }),
};

describe('retrying', () => {
  it('repeats a read that failed, and gives the result', async () => {
    const plain = new Scripted(coded(503, 'StreamableHTTPError'), ok);
    expect(await retrying(plain, fast).callTool({ name: 'search' })).toBe(ok);
    expect(plain.seen).toHaveLength(2);
  });

  it('repeats a write with a key under the same operation id, and leaves the parameters of the caller alone', async () => {
    const plain = new Scripted(coded(-32001), coded(-32001), ok);
    const params = { name: 'keyed', arguments: { a: 1 } };
    await retrying(plain, fast).callTool(params);
    const ids = plain.seen.map((seen) => seen['_meta']?.[META_OPERATION_ID]);
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(1);
    expect(params).toEqual({ name: 'keyed', arguments: { a: 1 } });
  });

  it('takes the operation id of the caller and of the scope', async () => {
    const plain = new Scripted(ok, ok);
    const client = retrying(plain, fast);
    await client.callTool({ name: 'keyed', _meta: { [META_OPERATION_ID]: 'mine', other: 1 } });
    await withOperation('scoped', () => client.callTool({ name: 'keyed', _meta: { other: 1 } }));
    expect(plain.seen.map((seen) => seen['_meta'])).toEqual([
      { [META_OPERATION_ID]: 'mine', other: 1 },
      { [META_OPERATION_ID]: 'scoped', other: 1 },
    ]);
  });

  it('does not repeat a write without a promise: the same error comes back, with its advice', async () => {
    const error = coded(-32001);
    const plain = new Scripted(error, ok);
    await expect(retrying(plain, fast).callTool({ name: 'write' })).rejects.toBe(error);
    expect(retryAdvice(error)).toMatchObject({ decision: 'reconcile_first' });
    expect(plain.seen).toHaveLength(1);
  });

  it('knows nothing of a tool that nobody described: only what reached nobody is repeated', async () => {
    const lost = new Scripted(coded(503, 'StreamableHTTPError'), ok);
    await expect(retrying(lost).callTool({ name: 'search' })).rejects.toThrow('StreamableHTTPError');
    const refused = new Scripted(fetchFailed('ECONNREFUSED'), ok);
    expect(await retrying(refused).callTool({ name: 'search' })).toBe(ok);
  });

  it('gives tool errors back and ends after two repeats', async () => {
    const failed = { content: [], isError: true };
    expect(await retrying(new Scripted(failed), fast).callTool({ name: 'search' })).toBe(failed);
    const plain = new Scripted(coded(503), coded(503), coded(503), ok);
    await expect(retrying(plain, fast).callTool({ name: 'search' })).rejects.toMatchObject({ code: 503 });
    expect(plain.remaining()).toBe(1);
  });

  it('stops waiting when the caller gives up', async () => {
    const plain = new Scripted(coded(503), ok);
    const slow: RetryingOptions = {
      tool: () => ({ effectKind: 'read', contract: { baseDelayMs: 10_000, maxDelayMs: 10_000 } }),
      onAdvice: () => setTimeout(() => stop.abort(), 5),
    };
    const stop = new AbortController();
    await expect(
      retrying(plain, slow).callTool({ name: 'search' }, undefined, { signal: stop.signal }),
    ).rejects.toMatchObject({ code: 503 });
    expect(plain.seen).toHaveLength(1);
  });

  it('lets one call at a time wait for a server that is limiting', async () => {
    const plain = new Scripted(coded(429), coded(429), coded(429), ok, ok, ok);
    const client = retrying(plain, fast);
    const results = await Promise.all([1, 2, 3].map(() => client.callTool({ name: 'search' })));
    expect(results).toEqual([ok, ok, ok]);
  });

  it('is the client in everything else', () => {
    const plain = new Scripted(ok);
    const client = retrying(plain, fast);
    expect(client).toBeInstanceOf(Scripted);
    expect(client.remaining()).toBe(1);
    expect(client.seen).toBe(plain.seen);
  });
});

describe('outcomeOfError', () => {
  const cases: readonly [string, unknown, RetryOutcome][] = [
    ['v1 HTTP status', coded(503, 'StreamableHTTPError'), { outcome: 'HTTP_ERROR', httpStatus: 503 }],
    [
      'v1 content type',
      coded(-1, 'StreamableHTTPError'),
      { outcome: 'INVALID_ENVELOPE', reason: 'content_type' },
    ],
    ['v1 timeout, or -32001 of a peer', coded(-32001), { outcome: 'TIMEOUT' }],
    [
      'v1 closed connection, or -32000 of a peer',
      coded(-32000),
      { outcome: 'TRANSPORT_ERROR', reason: 'closed' },
    ],
    ['JSON-RPC error', coded(-32602), { outcome: 'JSONRPC_ERROR', rpcCode: -32602 }],
    ['v2 timeout', coded('REQUEST_TIMEOUT', 'SdkError'), { outcome: 'TIMEOUT' }],
    [
      'v2 HTTP status',
      coded('CLIENT_HTTP_NOT_IMPLEMENTED', 'SdkHttpError', { status: 500 }),
      { outcome: 'HTTP_ERROR', httpStatus: 500 },
    ],
    ['v2 closed', coded('CONNECTION_CLOSED', 'SdkError'), { outcome: 'TRANSPORT_ERROR', reason: 'closed' }],
    ['v2 invalid result', coded('INVALID_RESULT', 'SdkError'), { outcome: 'INVALID_TOOL_RESULT' }],
    ['refused connection', fetchFailed('ECONNREFUSED'), { outcome: 'TRANSPORT_ERROR', reason: 'connect' }],
    ['reset connection', fetchFailed('ECONNRESET'), { outcome: 'TRANSPORT_ERROR', reason: 'reset' }],
    ['bad JSON', new SyntaxError('x'), { outcome: 'MALFORMED_JSON', reason: 'syntax' }],
    ['text that was thrown', 'no', { outcome: 'TRANSPORT_ERROR', reason: undefined }],
  ];
  it.each(cases)('%s', (_, error, expected) => {
    expect(outcomeOfError(error, false)).toEqual(expected);
  });
  it("reads anything as the caller's own wish once that has aborted", () => {
    expect(outcomeOfError(coded(-32001), true)).toEqual({ outcome: 'CANCELLED' });
  });
});

describe('outcomeOfResult', () => {
  it.each([
    [{ content: [] }, 'TOOL_SUCCESS'],
    [{ content: [], isError: true }, 'TOOL_ERROR'],
    [{ resultType: 'input_required', inputRequests: {} }, 'INPUT_REQUIRED'],
    [{ task: { taskId: 't' } }, 'TASK_PENDING'],
    [undefined, 'INVALID_TOOL_RESULT'],
  ])('%j is %s', (result, outcome) => {
    expect(outcomeOfResult(result).outcome).toBe(outcome);
  });
});
