import { EFFECT_KINDS, OPERATION_SOURCES, OUTCOMES } from '@waybill/core';
import type { Outcome } from '@waybill/core';
import { describe, expect, it } from 'vitest';
import { classifyRetry } from './classify-retry.js';
import type { RetryAdvice, RetryContract, RetryOutcome, RetryProgress, RetryTool } from './types.js';

const read: RetryTool = { effectKind: 'read' };
const write: RetryTool = { effectKind: 'write' };
const keyed: RetryContract = { deduplicates: true, operationSource: 'caller' };
const half: RetryProgress = { random: () => 0.5, nowMs: Date.UTC(2026, 9, 18, 12, 0, 0) };

type Case = readonly [
  what: string,
  outcome: RetryOutcome,
  tool: RetryTool,
  contract: RetryContract,
  expected: Partial<RetryAdvice>,
];

describe('the table of states', () => {
  const cases: readonly Case[] = [
    [
      '503 of a read',
      { outcome: 'HTTP_ERROR', httpStatus: 503 },
      read,
      {},
      { decision: 'conditional', needs: ['limits'], delayMs: 100 },
    ],
    [
      '503 of a write with a key the server remembers',
      { outcome: 'HTTP_ERROR', httpStatus: 503 },
      write,
      keyed,
      { decision: 'conditional', needs: ['same_operation_id', 'limits'], delayMs: 100 },
    ],
    [
      '503 of a write, nothing promised',
      { outcome: 'HTTP_ERROR', httpStatus: 503 },
      write,
      {},
      { decision: 'reconcile_first', needs: ['read_back'], delayMs: undefined },
    ],
    [
      '503 of a tool nobody described',
      { outcome: 'HTTP_ERROR', httpStatus: 503 },
      { effectKind: 'unknown' },
      {},
      { decision: 'reconcile_first' },
    ],
    [
      'a brief network failure of a read',
      { outcome: 'TRANSPORT_ERROR', reason: 'reset' },
      read,
      {},
      { decision: 'conditional' },
    ],
    [
      'a brief network failure of a write',
      { outcome: 'TRANSPORT_ERROR', reason: 'reset' },
      write,
      {},
      { decision: 'reconcile_first' },
    ],
    [
      'a refused connection of a write',
      { outcome: 'TRANSPORT_ERROR', reason: 'connect' },
      write,
      {},
      { decision: 'conditional' },
    ],
    [
      '429 with Retry-After in seconds',
      { outcome: 'HTTP_ERROR', httpStatus: 429, retryAfter: '3' },
      read,
      {},
      { decision: 'conditional', needs: ['limits', 'retry_after', 'single_waiter'], delayMs: 3000 },
    ],
    [
      '429 with Retry-After as a date',
      { outcome: 'HTTP_ERROR', httpStatus: 429, retryAfter: 'Sun, 18 Oct 2026 12:00:05 GMT' },
      read,
      {},
      { decision: 'conditional', delayMs: 5000 },
    ],
    [
      '429 without Retry-After',
      { outcome: 'HTTP_ERROR', httpStatus: 429 },
      read,
      {},
      { decision: 'conditional', needs: ['limits', 'single_waiter'], delayMs: 100 },
    ],
    [
      '429 of a write',
      { outcome: 'HTTP_ERROR', httpStatus: 429, retryAfter: '1' },
      write,
      {},
      { decision: 'reconcile_first' },
    ],
    [
      '-32602',
      { outcome: 'JSONRPC_ERROR', rpcCode: -32602 },
      read,
      {},
      { decision: 'after_fix', needs: ['fixed_request'], tellModel: 'may' },
    ],
    [
      '-32602 of a write with a key',
      { outcome: 'JSONRPC_ERROR', rpcCode: -32602 },
      write,
      keyed,
      { decision: 'after_fix' },
    ],
    [
      '-32603 of a read',
      { outcome: 'JSONRPC_ERROR', rpcCode: -32603 },
      read,
      {},
      { decision: 'conditional', tellModel: 'may' },
    ],
    [
      '-32603 of a write',
      { outcome: 'JSONRPC_ERROR', rpcCode: -32603 },
      write,
      {},
      { decision: 'reconcile_first' },
    ],
    [
      'isError of a read',
      { outcome: 'TOOL_ERROR' },
      read,
      {},
      { decision: 'after_fix', needs: ['business_check'], tellModel: 'should' },
    ],
    [
      'isError of a write',
      { outcome: 'TOOL_ERROR' },
      write,
      {},
      { decision: 'reconcile_first', needs: ['read_back', 'business_check'], tellModel: 'should' },
    ],
    [
      'isError of a write whose errors are clean',
      { outcome: 'TOOL_ERROR' },
      write,
      { errorsAreClean: true },
      { decision: 'after_fix', tellModel: 'should' },
    ],
    [
      'MALFORMED_JSON',
      { outcome: 'MALFORMED_JSON', reason: 'syntax' },
      read,
      {},
      { decision: 'never', needs: ['diagnostic_record'], tellModel: 'may' },
    ],
    [
      'INVALID_ENVELOPE',
      { outcome: 'INVALID_ENVELOPE', reason: 'id_mismatch' },
      read,
      {},
      { decision: 'never', needs: ['diagnostic_record'] },
    ],
    [
      'INVALID_TOOL_RESULT of a write',
      { outcome: 'INVALID_TOOL_RESULT' },
      write,
      keyed,
      { decision: 'never', needs: ['diagnostic_record', 'read_back'] },
    ],
    [
      'INPUT_REQUIRED',
      { outcome: 'INPUT_REQUIRED' },
      write,
      {},
      { decision: 'continue_interaction', needs: ['input'], tellModel: 'no' },
    ],
    [
      'a task',
      { outcome: 'TASK_PENDING' },
      write,
      {},
      { decision: 'continue_interaction', needs: ['task_poll'] },
    ],
    [
      '200 without a final result',
      { outcome: 'STREAM_INCOMPLETE', reason: 'closed_before_response' },
      write,
      {},
      { decision: 'reconcile_first' },
    ],
    [
      'a timeout of a write with a key',
      { outcome: 'TIMEOUT' },
      write,
      keyed,
      { decision: 'conditional', needs: ['same_operation_id', 'limits'] },
    ],
    [
      'a lost session of a read',
      { outcome: 'HTTP_ERROR', httpStatus: 404, reason: 'session_lost' },
      read,
      {},
      { decision: 'conditional', needs: ['new_session', 'limits'] },
    ],
    ['401', { outcome: 'HTTP_ERROR', httpStatus: 401 }, read, {}, { decision: 'after_fix' }],
    [
      '501 of a write',
      { outcome: 'HTTP_ERROR', httpStatus: 501 },
      write,
      keyed,
      { decision: 'reconcile_first' },
    ],
    ['the caller gave up a read', { outcome: 'CANCELLED' }, read, {}, { decision: 'never' }],
    ['the caller gave up a write', { outcome: 'CANCELLED' }, write, keyed, { decision: 'reconcile_first' }],
    ['success', { outcome: 'TOOL_SUCCESS' }, write, keyed, { decision: 'never', needs: [] }],
  ];
  it.each(cases)('%s', (_, outcome, tool, contract, expected) => {
    expect(classifyRetry(outcome, tool, contract, half)).toMatchObject(expected);
  });
});

describe('limits', () => {
  const call = { outcome: 'HTTP_ERROR', httpStatus: 503 } as const;

  it('are two repeats, and then a read has failed and a write must be reconciled', () => {
    const decisions = (tool: RetryTool): string[] =>
      [0, 1, 2].map((retries) => classifyRetry(call, tool, keyed, { ...half, retries }).decision);
    expect(decisions(read)).toEqual(['conditional', 'conditional', 'never']);
    expect(decisions(write)).toEqual(['conditional', 'conditional', 'reconcile_first']);
  });

  it('double the step each time and take a random part of it', () => {
    const delays = [0, 1, 2, 3, 9].map(
      (retries) =>
        classifyRetry(call, read, { maxRetries: 10 }, { retries, random: () => 0.999_999 }).delayMs,
    );
    expect(delays).toEqual([199, 399, 799, 1599, 9999]);
    expect(classifyRetry(call, read, {}, { random: () => 0 }).delayMs).toBe(0);
  });

  it('end with the total time, also where the server asks for a longer wait', () => {
    expect(classifyRetry(call, read, {}, { ...half, elapsedMs: 30_000 }).decision).toBe('never');
    expect(classifyRetry({ ...call, retryAfter: '60' }, read, {}, half).decision).toBe('never');
    expect(classifyRetry({ ...call, retryAfter: '60' }, read, { deadlineMs: 120_000 }, half).delayMs).toBe(
      60_000,
    );
  });

  it('end with the memory of the server for the key', () => {
    const contract = { ...keyed, keyRetentionMs: 1000 };
    expect(classifyRetry(call, write, contract, { ...half, elapsedMs: 999 }).decision).toBe('conditional');
    expect(classifyRetry(call, write, contract, { ...half, elapsedMs: 1000 }).decision).toBe(
      'reconcile_first',
    );
  });

  it('keep their defaults when a contract names them as undefined', () => {
    const contract = { maxRetries: undefined } as unknown as RetryContract;
    expect(classifyRetry(call, read, contract, half).decision).toBe('conditional');
  });
});

describe('for every outcome, kind, promise and id source', () => {
  const all = (): RetryAdvice[] => {
    const found: RetryAdvice[] = [];
    for (const { outcome, reasons } of OUTCOMES) {
      for (const reason of [undefined, ...reasons]) {
        for (const httpStatus of [undefined, 400, 404, 408, 425, 429, 500, 501, 503]) {
          for (const effectKind of EFFECT_KINDS) {
            for (const deduplicates of [true, false]) {
              for (const operationSource of OPERATION_SOURCES) {
                const advice = classifyRetry(
                  { outcome: outcome as Outcome, reason, httpStatus },
                  { effectKind },
                  { deduplicates, operationSource },
                  half,
                );
                const unsent =
                  outcome === 'TRANSPORT_ERROR' && ['connect', 'dns', 'tls'].includes(reason ?? '');
                const safe =
                  effectKind === 'read' ||
                  unsent ||
                  (deduplicates && ['caller', 'server'].includes(operationSource));
                if (advice.decision === 'conditional' && !safe) found.push(advice);
              }
            }
          }
        }
      }
    }
    return found;
  };
  it('a repeat is advised only where it cannot execute twice, whatever the status', () => {
    expect(all()).toEqual([]);
  });
});
