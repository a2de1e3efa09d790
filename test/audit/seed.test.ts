/**
 * The four states after a timeout and the five pitfalls of docs/verdicts.md, each on the smallest evidence that shows it.
 */
import { audit } from '@waybill/audit';
import type { AuditReport } from '@waybill/audit';
import { describe, expect, test } from 'vitest';
import { inputsOf, timeAt } from './matrix/world.js';
import type { Leg, Recorded, World } from './matrix/world.js';

const OPERATION = 'task-42:done:v1';

const timedOut: Recorded = {
  outcome: 'TIMEOUT',
  stages: [
    ['client.sent', 0],
    ['client.timeout', 9],
  ],
};
const toldSuccess: Recorded = {
  outcome: 'TOOL_SUCCESS',
  stages: [
    ['client.sent', 0],
    ['client.result_received', 9],
  ],
};
const wrote: Recorded = {
  outcome: 'TOOL_SUCCESS',
  stages: [
    ['server.received', 1],
    ['server.effect_requested', 2],
    ['server.effect_confirmed', 4],
    ['server.result_sent', 5],
  ],
};

function leg(client: Recorded | undefined, ...servers: readonly Recorded[]): Leg {
  return { callId: 'c-1', operationId: OPERATION, ...(client === undefined ? {} : { client }), servers };
}

function receipt(row: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return {
    operation_id: OPERATION,
    call_id: 'c-1',
    object: 'task-42',
    expected: 'done',
    observed: 'done',
    version: 2,
    result: 'applied',
    at: String(timeAt(4)),
    source: 'todo-mcp',
    ...row,
  };
}

function target(row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return {
    operation_id: OPERATION,
    object: 'task-42',
    expected: 'done',
    read_at: String(timeAt(20)),
    reader: 'auditor',
    ...row,
  };
}
const unchanged = { state: 'todo', version: 1 };

function judge(world: World): Promise<AuditReport> {
  const { inputs, options } = inputsOf(world);
  return audit(inputs, options);
}

function rulesOf(report: AuditReport): readonly string[] {
  return report.findings.filter((each) => each.level !== 'info').map((each) => each.rule);
}

describe('four states after a timeout', () => {
  test.each([
    {
      state: 'not delivered: without a fence it is a question, for a missing server span may be a lost one',
      world: { legs: [leg(timedOut)], receipts: [], targets: [target(unchanged)] },
      operation: { verdict: 'unknown_needs_reconciliation', action: 'fence_then_retry', told: 'TIMEOUT' },
      rules: [],
    },
    {
      state: 'not delivered: fenced, it may be sent again under the same operation id',
      world: {
        legs: [leg(timedOut)],
        receipts: [],
        targets: [target({ ...unchanged, fenced: true, deduplicates: true })],
      },
      operation: { verdict: 'verified_not_done', action: 'retry_same_operation_id' },
      rules: [],
    },
    {
      state: 'written, reply lost: it is done, and nothing is sent again',
      world: {
        legs: [leg(timedOut, wrote)],
        receipts: [receipt()],
        targets: [target({ state: 'done', version: 2 })],
      },
      operation: { verdict: 'verified_done', action: 'none', flags: ['reply_lost'] },
      rules: ['reply-lost'],
    },
    {
      state: 'success reported, write failed: the target does not show it and no receipt says so',
      world: { legs: [leg(toldSuccess)], receipts: [], targets: [target(unchanged)] },
      operation: { verdict: 'false_success', action: 'read_back_then_retry', told: 'TOOL_SUCCESS' },
      rules: ['false-success', 'success-without-receipt'],
    },
    {
      state: 'evidence conflicts: the receipt says written, the fenced target says no',
      world: {
        legs: [leg(timedOut, wrote)],
        receipts: [receipt()],
        targets: [target({ ...unchanged, fenced: true })],
      },
      operation: { verdict: 'evidence_conflict', action: 'escalate' },
      rules: ['receipt-invalid'],
    },
    {
      state: 'evidence conflicts: a page is missing, so it stays unknown',
      world: {
        legs: [
          leg(timedOut, {
            outcome: 'TOOL_SUCCESS',
            stages: [
              ['server.received', 1],
              ['server.effect_requested', 2],
            ],
            lostSeq: [2],
          }),
        ],
        receipts: [],
      },
      operation: { verdict: 'unknown_needs_reconciliation' },
      rules: ['sequence-gap'],
    },
  ])('$state', async ({ world, operation, rules }) => {
    const report = await judge(world);
    expect(report.operations).toHaveLength(1);
    expect(report.operations.at(0)).toMatchObject(operation);
    expect(rulesOf(report)).toEqual(expect.arrayContaining([...rules]));
  });
});

describe('five pitfalls', () => {
  test('a JSON-RPC success proves nothing about the target', async () => {
    const report = await judge({ legs: [leg(toldSuccess, wrote)], receipts: [] });
    expect(report.operations.at(0)).toMatchObject({ verdict: 'insufficient_evidence', told: 'TOOL_SUCCESS' });
    expect(rulesOf(report)).toContain('success-without-receipt');
  });

  test('a stage deleted from a local trace leaves a hole in the numbers', async () => {
    const cut = { ...wrote, stages: wrote.stages.filter(([name]) => name !== 'server.effect_requested') };
    const report = await judge({
      legs: [leg(toldSuccess, { ...cut, lostSeq: [2] })],
      receipts: [receipt()],
    });
    expect(rulesOf(report)).toEqual(['sequence-gap']);
  });

  test('a trace deleted as a whole leaves a receipt without a trace', async () => {
    const other = { ...leg(toldSuccess, wrote), callId: 'c-9', operationId: 'task-9:done:v1' };
    const report = await judge({ legs: [other], receipts: [receipt()] });
    expect(rulesOf(report)).toContain('receipt-without-trace');
  });

  test('a receipt that anybody could have written says so, and can be refused', async () => {
    const world: World = { legs: [leg(toldSuccess, wrote)], receipts: [receipt()] };
    expect((await judge(world)).operations.at(0)).toMatchObject({
      verdict: 'verified_done',
      assurance: 'unsigned',
    });
    const strict = await judge({ ...world, options: { requireSigned: true } });
    expect(strict.operations.at(0)).toMatchObject({ verdict: 'insufficient_evidence', assurance: 'none' });
  });

  test('a hash without an object and a version is bound to nothing', async () => {
    const hashOnly = receipt({
      object: undefined,
      version: undefined,
      expected: undefined,
      observed: undefined,
      hash: `sha256:${'a'.repeat(64)}`,
    });
    const report = await judge({ legs: [leg(toldSuccess, wrote)], receipts: [hashOnly] });
    expect(report.operations.at(0)?.verdict).toBe('unknown_needs_reconciliation');
    expect(rulesOf(report)).toContain('receipt-unbound');
  });

  test('a blind repetition under a new key is found by its arguments', async () => {
    const sameArguments = { attributes: { 'waybill.args.digest': '5f70bf18' } };
    const later: Recorded = {
      ...toldSuccess,
      ...sameArguments,
      stages: toldSuccess.stages.map(([name, at]) => [name, at + 20]),
    };
    const again: Leg = {
      callId: 'c-2',
      operationId: 'task-42:done:again',
      client: later,
      servers: [],
    };
    const report = await judge({
      legs: [leg({ ...timedOut, ...sameArguments }, wrote), again],
      receipts: [receipt()],
    });
    expect(rulesOf(report)).toEqual(expect.arrayContaining(['duplicate-intent', 'unsafe-retry']));
  });
});
