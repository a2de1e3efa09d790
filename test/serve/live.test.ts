/** The live auditor on files that grow, with a clock of the test's own. */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { audit, type LiveAuditor } from '@waybill/audit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exportOf, FOREIGN, receiptOf } from '../cli/evidence.js';
import { sideOf, World } from './live-support.js';

const GRACE = 60_000;
let world: World;
let auditor: LiveAuditor;

beforeEach(() => {
  world = new World();
});

afterEach(async () => {
  await world.remove();
});

describe('grace', () => {
  it('an operation is judged when nothing came for it during the grace period, and not before', async () => {
    auditor = world.start();
    world.append('traces.jsonl', exportOf());
    await world.after(GRACE - 1, auditor);
    expect(world.events).toEqual([]);
    expect(auditor.stats().openGroups).toBe(1);
    await world.after(1, auditor);
    expect(world.said()).toEqual(['row-42:done:v1 1 insufficient_evidence']);
    expect(auditor.stats()).toMatchObject({ openGroups: 0, openItems: 0, lagBytes: 0 });
  });

  it('the second half of a call begins its grace again, and both halves are one operation', async () => {
    auditor = world.start();
    world.append('traces.jsonl', sideOf('client', {}));
    await world.after(GRACE - 1, auditor);
    world.append('traces.jsonl', sideOf('server', {}));
    await world.after(GRACE - 1, auditor);
    expect(world.events).toEqual([]);
    await world.after(1, auditor);
    expect(world.events).toHaveLength(1);
    expect(world.events[0]?.operation?.flags).not.toContain('trace_missing_server');
  });

  it('an operation that never comes to rest is judged all the same', async () => {
    auditor = world.start();
    for (let call = 1; call <= 22; call += 1) {
      world.append('traces.jsonl', exportOf({ call: `c-${call}` }));
      await world.after(GRACE / 2, auditor);
    }
    expect(world.said()).toEqual(['row-42:done:v1 1 insufficient_evidence']);
    expect(auditor.stats().openGroups).toBe(1);
  });

  it('a clock of another host that is a day ahead keeps nothing open', async () => {
    auditor = world.start();
    world.now -= 86_400_000;
    world.append('traces.jsonl', exportOf());
    await world.after(GRACE, auditor);
    expect(world.said()).toEqual(['row-42:done:v1 1 insufficient_evidence']);
  });

  it('spans of something else open nothing', async () => {
    auditor = world.start();
    world.append('traces.jsonl', FOREIGN);
    await world.after(GRACE, auditor);
    expect(auditor.stats()).toMatchObject({ openGroups: 0, closed: 0, lagBytes: 0 });
  });
});

describe('late evidence', () => {
  it('brings a closed operation back with all that is known of it, and says what changed once', async () => {
    world.append('receipts.jsonl', '');
    auditor = world.start({ receipts: [world.file('receipts.jsonl')] });
    world.append('traces.jsonl', exportOf());
    await world.after(GRACE, auditor);
    expect(auditor.stats().openGroups).toBe(0);
    world.append('receipts.jsonl', receiptOf());
    await world.after(GRACE, auditor);
    const [first, second] = world.events;
    expect(first?.operation?.verdict).not.toBe('verified_done');
    expect(second).toMatchObject({
      revision: 2,
      previous: first?.operation?.verdict,
      operation: { key: 'row-42:done:v1', verdict: 'verified_done' },
    });
    expect(world.events).toHaveLength(2);
    expect(auditor.stats().counts.verdicts).toMatchObject({ verified_done: 1 });
    expect(Object.values(auditor.stats().counts.verdicts).reduce((a, b) => a + b, 0)).toBe(1);
  });

  it('a copy of what is known changes nothing', async () => {
    auditor = world.start();
    world.append('traces.jsonl', exportOf());
    await world.after(GRACE, auditor);
    world.append('traces.jsonl', exportOf());
    await world.after(GRACE, auditor);
    expect(world.events).toHaveLength(1);
  });

  it('the other half, an hour later, is found by its call id alone', async () => {
    auditor = world.start();
    world.append('traces.jsonl', sideOf('client', {}));
    await world.after(GRACE, auditor);
    expect(world.events[0]?.operation?.flags).toContain('trace_missing_server');
    world.now += 3_600_000;
    world.append('traces.jsonl', sideOf('server', {}));
    await world.after(GRACE, auditor);
    const changes = world.events.filter(({ operation }) => operation !== null);
    expect(changes).toHaveLength(2);
    expect(changes[1]?.operation?.flags).not.toContain('trace_missing_server');
  });
});

describe('a restart', () => {
  it('goes on with what was open, and says nothing twice', async () => {
    auditor = world.start();
    world.append('traces.jsonl', exportOf({ operation: 'a', call: 'c-1' }));
    await world.after(GRACE, auditor);
    world.append('traces.jsonl', sideOf('client', { operation: 'b', call: 'c-2' }));
    await world.after(1, auditor);
    await world.stop(auditor);

    auditor = world.start();
    world.append('traces.jsonl', sideOf('server', { operation: 'b', call: 'c-2' }));
    await world.after(GRACE, auditor);
    expect(world.said()).toEqual(['a 1 insufficient_evidence', 'b 1 insufficient_evidence']);
    expect(world.events[1]?.operation?.flags).toEqual(world.events[0]?.operation?.flags);
    expect(auditor.stats().counts.verdicts).toEqual({ insufficient_evidence: 2 });
  });

  it.each(['progress.json', 'closed.index', 'closed.bin'])(
    'without %s, everything is judged again from the evidence',
    async (file) => {
      auditor = world.start();
      for (let call = 1; call <= 5; call += 1) {
        world.append('traces.jsonl', exportOf({ operation: `op-${call}`, call: `c-${call}` }));
        await world.after(GRACE, auditor);
      }
      const before = world.said();
      await world.stop(auditor);
      rmSync(world.file(`.live/${file}`));
      auditor = world.start();
      await world.after(GRACE, auditor);
      expect(world.said()).toEqual(before);
      expect(auditor.stats().counts.verdicts).toEqual({ insufficient_evidence: 5 });
    },
  );

  it('without a last progress (a process that was killed) nothing is said twice', async () => {
    auditor = world.start();
    await auditor.checkpoint();
    const progress = readFileSync(world.file('.live/progress.json'));
    world.append('traces.jsonl', exportOf());
    await world.after(GRACE, auditor);
    world.append('traces.jsonl', exportOf({ call: 'c-2' }));
    await world.after(GRACE, auditor);
    const before = world.said();
    expect(before).toHaveLength(2);
    writeFileSync(world.file('.live/progress.json'), progress);
    auditor = world.start();
    await world.after(GRACE, auditor);
    expect(world.said()).toEqual(before);
  });

  it('a file that was moved away is followed into the new one', async () => {
    auditor = world.start();
    world.append('traces.jsonl', exportOf({ operation: 'a', call: 'c-1' }));
    await world.after(GRACE, auditor);
    rmSync(world.file('traces.jsonl'));
    world.append('traces.jsonl', FOREIGN);
    world.append('traces.jsonl', exportOf({ operation: 'b', call: 'c-2' }));
    await world.after(GRACE, auditor);
    expect(world.said().map((line) => line.split(' ')[0])).toEqual(['a', 'b']);
  });
});

describe('what is said', () => {
  it('equals what the batch auditor says of the same folder, whatever the order and the pieces', async () => {
    const outcomes = ['TOOL_SUCCESS', 'TIMEOUT', 'TOOL_ERROR', 'STREAM_INCOMPLETE', 'TRANSPORT_ERROR'];
    const lines: string[] = [];
    const receipts: string[] = [];
    for (let call = 1; call <= 60; call += 1) {
      const outcome = outcomes[call % outcomes.length] ?? '';
      const effect = (['confirmed', 'open', 'none'] as const)[call % 3] ?? 'none';
      const input = {
        operation: `op-${call % 40}`,
        call: `c-${call}`,
        outcome,
        effect,
        tool: `tool-${(call % 40) % 4}`,
      };
      if (call % 7 !== 0) lines.push(sideOf('client', input));
      if (call % 5 !== 0) lines.push(sideOf('server', input));
      if (call % 4 === 0) {
        receipts.push(
          receiptOf({
            operation: input.operation,
            call: input.call,
            result: call % 8 === 0 ? 'applied' : 'failed',
          }),
        );
      }
    }
    world.append('receipts.jsonl', '');
    auditor = world.start({ receipts: [world.file('receipts.jsonl')] });
    // A fixed shuffle: what belongs together comes hours apart or at once.
    const shuffled = [
      ...lines.map((line) => ['traces.jsonl', line] as const),
      ...receipts.map((line) => ['receipts.jsonl', line] as const),
    ]
      .map((each, index) => ({ each, at: (index * 7919) % 1009 }))
      .sort((a, b) => a.at - b.at);
    for (const [index, { each }] of shuffled.entries()) {
      // Half of what comes is protobuf, which stands in a file of its own.
      if (each[0] === 'traces.jsonl' && index % 2 === 0) world.appendFrame('traces.binpb', each[1]);
      else world.append(each[0], each[1]);
      if (index % 3 === 0) await world.after(index % 2 === 0 ? GRACE : 1_000, auditor);
    }
    await world.after(GRACE, auditor);

    const report = await audit(
      {
        traces: [world.file('traces.jsonl'), world.file('traces.binpb')],
        receipts: [world.file('receipts.jsonl')],
      },
      { asOfUnixNano: BigInt(world.now) * 1_000_000n },
    );
    const latest = new Map(
      world.events.flatMap((event) =>
        event.operation === null ? [] : [[event.operation.key, event] as const],
      ),
    );
    const ours = [...latest.values()].map(({ operation, state }) => ({
      key: operation?.key,
      verdict: operation?.verdict,
      flags: operation?.flags,
      action: operation?.action,
      told: operation?.told,
      findings: state.findings,
    }));
    const notLive = new Set(['broken-context', 'duplicate-intent', 'sampled-away']);
    const theirs = report.operations.map(({ key, verdict, flags, action, told }) => ({
      key,
      verdict,
      flags,
      action,
      told,
      findings: [
        ...new Set(
          report.findings
            .filter((finding) => finding.operation === key && !notLive.has(finding.rule))
            .map(({ fingerprint }) => fingerprint),
        ),
      ].sort(),
    }));
    const byKey = (
      a: { readonly key: string | undefined },
      b: { readonly key: string | undefined },
    ): number => ((a.key ?? '') < (b.key ?? '') ? -1 : 1);
    expect(theirs.length).toBeGreaterThan(30);
    expect(ours.sort(byKey)).toEqual([...theirs].sort(byKey));
  });

  it('a finding names its spans by their ids, wherever they were read', async () => {
    auditor = world.start();
    world.append('traces.jsonl', exportOf({ outcome: 'TIMEOUT' }));
    world.appendFrame('traces.binpb', exportOf({ outcome: 'TIMEOUT', operation: 'b', call: 'c-2' }));
    await world.after(GRACE, auditor);
    const named = world.events.flatMap((event) => event.findings).flatMap((finding) => finding.at);
    expect(named).toContain('span:0af7651916cd43dd8448eb211c80319c:a000000000000001');
    expect(named).toContain('span:0af7651916cd43dd8448eb211c80319c:a000000000000002');
    expect(named.filter((name) => !name.startsWith('span:'))).toEqual([]);
  });

  it('a damaged frame is told with its place, and the frames around it are judged', async () => {
    auditor = world.start();
    world.appendFrame('traces.binpb', exportOf({ operation: 'a', call: 'c-1' }));
    await world.after(1, auditor);
    const place = statSync(world.file('traces.binpb')).size;
    world.appendFrame('traces.binpb', '{"resourceSpans":[{"sc');
    world.append('traces.binpb', '\u0077 no length');
    world.appendFrame('traces.binpb', exportOf({ operation: 'b', call: 'c-2' }));
    await world.after(GRACE, auditor);
    expect(world.said()).toEqual(['a 1 insufficient_evidence', 'b 1 insufficient_evidence']);
    expect(world.problems.join('\n')).toContain(`traces.binpb@${place}`);
  });

  it('a damaged line is told with its place, and the lines around it are judged', async () => {
    auditor = world.start();
    world.append(
      'traces.jsonl',
      `${exportOf({ operation: 'a', call: 'c-1' })}{"resourceSpans":[{"sc\n${exportOf({ operation: 'b', call: 'c-2' })}`,
    );
    await world.after(GRACE, auditor);
    expect(world.said()).toHaveLength(2);
    expect(world.problems.join('\n')).toContain('traces.jsonl:2');
    expect(auditor.stats().damaged).toBe(1);
  });

  it('a half line waits for its other half', async () => {
    auditor = world.start();
    const line = exportOf();
    world.append('traces.jsonl', line.slice(0, 200));
    await world.after(GRACE, auditor);
    world.append('traces.jsonl', line.slice(200));
    await world.after(GRACE, auditor);
    expect(world.said()).toHaveLength(1);
    expect(auditor.stats().damaged).toBe(0);
  });
});

describe('memory', () => {
  it('holds no closed operation: ten thousand of them leave nothing behind but files', async () => {
    auditor = world.start();
    for (let round = 0; round < 10; round += 1) {
      world.append(
        'traces.jsonl',
        Array.from({ length: 1_000 }, (_, index) => {
          const call = round * 1_000 + index + 1;
          return exportOf({ operation: `op-${call}`, call: `c-${call}` });
        }).join(''),
      );
      await world.after(GRACE, auditor);
      expect(auditor.stats()).toMatchObject({ openGroups: 0, openItems: 0, closed: (round + 1) * 1_000 });
    }
    expect(statSync(world.file('.live/closed.bin')).size).toBeGreaterThan(10_000 * 200);
    expect(auditor.stats().counts.verdicts).toEqual({ insufficient_evidence: 10_000 });
    // And each can be found again.
    world.append('traces.jsonl', exportOf({ operation: 'op-17', call: 'c-99999' }));
    await world.after(GRACE, auditor);
    expect(world.events.at(-1)).toMatchObject({ revision: 2, operation: { key: 'op-17', calls: 2 } });
  });
});

describe('findings of which one is enough', () => {
  it('a tool without declared receipts is named once, over all its operations and over a restart', async () => {
    auditor = world.start();
    for (let call = 1; call <= 5; call += 1) {
      world.append(
        'traces.jsonl',
        exportOf({
          operation: `op-${call}`,
          call: `c-${call}`,
          effect: 'none',
          tool: call === 5 ? 'b' : 'a',
        }),
      );
      await world.after(GRACE, auditor);
      if (call !== 3) continue;
      await world.stop(auditor);
      auditor = world.start();
    }
    const about = world.events.filter(({ operation }) => operation === null);
    expect(about.map(({ rules, state }) => [rules, state.digest])).toEqual([
      [['success-without-receipt'], 'success-without-receipt a'],
      [['success-without-receipt'], 'success-without-receipt b'],
    ]);
  });
});

describe('too much at one time', () => {
  it('the longest untouched are judged early, and their late halves correct what was said', async () => {
    auditor = world.start({ maxOpenRecords: 100 });
    for (let call = 1; call <= 600; call += 1) {
      world.append('traces.jsonl', sideOf('client', { operation: `op-${call}`, call: `c-${call}` }));
    }
    await world.after(1, auditor);
    expect(auditor.stats().openItems).toBeLessThanOrEqual(100);
    expect(auditor.stats().early).toBeGreaterThanOrEqual(500);
    world.append('traces.jsonl', sideOf('server', { operation: 'op-1', call: 'c-1' }));
    await world.after(GRACE, auditor);
    const said = world.events.filter(({ operation }) => operation?.key === 'op-1');
    expect(said.map(({ revision }) => revision)).toEqual([1, 2]);
    expect(said.at(-1)?.operation?.flags).not.toContain('trace_missing_server');
    expect(Object.values(auditor.stats().counts.verdicts).reduce((a, b) => a + b, 0)).toBe(600);
  });
});
