/** Every operation to its verdict and findings, and the counts of the report. */
import type { Verdict } from '@waybill/core';
import type { Engine } from './engine.js';
import type { Verdicts } from './evidence/index.js';
import type { OperationIndex } from './operation-list.js';
import type { AuditReport } from './report.js';
import type { Operation } from './rule.js';

/**
 * Judges every group once. Of plain calls that are alike one is judged: where no rule had anything to say of it, none
 * has of the others, and they are counted as it was.
 */
export function judgeAll(
  verdicts: Verdicts,
  engine: Engine,
  index: OperationIndex,
  tally: Tally,
  foreignRules: boolean,
): void {
  const alike = new Map<number, Counted & { readonly wantsRun: boolean }>();
  for (let group = 0; group < verdicts.groups; group++) {
    const brief = foreignRules ? undefined : verdicts.brief(group);
    const known = brief === undefined ? undefined : alike.get(brief.key);
    if (brief !== undefined && known !== undefined) {
      tally.add(known);
      const runId = known.wantsRun ? brief.runId() : undefined;
      if (runId !== undefined) index.wantRun(runId);
      index.add(group, 0, brief.startTimeUnixNano, runId);
      continue;
    }
    const [noted, asked] = [engine.noted, verdicts.asked()];
    const operations = verdicts.judge(group);
    operations.forEach(({ operation }, place) => {
      const counted = countedOf(operation);
      tally.add(counted);
      engine.visit(operation);
      const wantsRun = engine.wantsRunOf(operation);
      const { runId } = operation;
      if (wantsRun && runId !== undefined) index.wantRun(runId);
      index.add(group, place, operation.calls[0]?.startTimeUnixNano ?? 0n, runId);
      if (
        brief !== undefined &&
        operations.length === 1 &&
        engine.noted === noted &&
        verdicts.asked() === asked
      ) {
        alike.set(brief.key, { ...counted, wantsRun });
      }
    });
  }
}

export interface Counted {
  readonly verdict: Verdict;
  readonly calls: number;
  readonly withClient: number;
  readonly withServer: number;
  readonly withReceipt: boolean;
}

function countedOf({ verdict, calls, receipts }: Operation): Counted {
  return {
    verdict: verdict.verdict,
    calls: calls.length,
    withClient: calls.filter((call) => call.client !== undefined).length,
    withServer: calls.filter((call) => call.server !== undefined).length,
    withReceipt: receipts.length > 0,
  };
}

/** What the report counts while operations pass by. */
export class Tally {
  readonly counts: Mutable<
    Pick<AuditReport['coverage'], 'operations' | 'calls' | 'withClient' | 'withServer' | 'withReceipt'>
  > = { operations: 0, calls: 0, withClient: 0, withServer: 0, withReceipt: 0 };
  readonly #verdicts = new Map<Verdict, number>();

  add({ verdict, calls, withClient, withServer, withReceipt }: Counted): void {
    const { counts } = this;
    counts.operations += 1;
    counts.calls += calls;
    counts.withClient += withClient;
    counts.withServer += withServer;
    if (withReceipt) counts.withReceipt += 1;
    this.#verdicts.set(verdict, (this.#verdicts.get(verdict) ?? 0) + 1);
  }

  verdicts(): Readonly<Partial<Record<Verdict, number>>> {
    return Object.fromEntries([...this.#verdicts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
