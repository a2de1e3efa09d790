/** The evidence as it stood at an earlier time: nothing that came later is known, not even that it would come. */
import {
  ATTR_ARGS_DIGEST,
  ATTR_BOUNDARY_ID,
  ATTR_CALL_ATTEMPT,
  ATTR_CALL_CONTINUES,
  ATTR_CALL_ID,
  ATTR_CALL_NUMBER,
  ATTR_EFFECT_KIND,
  ATTR_OPERATION_ID,
  ATTR_OPERATION_SOURCE,
  ATTR_RETRY_ORIGIN,
  ATTR_RUN_ID,
} from '@waybill/core';
import type { Records } from './operations.js';
import type { SpanRow } from './rows.js';

/** Attributes that a span has from its start. */
const FROM_START: ReadonlySet<string> = new Set([
  ATTR_ARGS_DIGEST,
  ATTR_BOUNDARY_ID,
  ATTR_CALL_ATTEMPT,
  ATTR_CALL_CONTINUES,
  ATTR_CALL_ID,
  ATTR_CALL_NUMBER,
  ATTR_EFFECT_KIND,
  ATTR_OPERATION_ID,
  ATTR_OPERATION_SOURCE,
  ATTR_RETRY_ORIGIN,
  ATTR_RUN_ID,
]);

export interface Cut {
  readonly rows: readonly SpanRow[];
  /** Rows whose end lies in the future. */
  readonly open: ReadonlySet<SpanRow>;
}

export function cutRows(rows: readonly SpanRow[], asOf: bigint): Cut {
  const kept: SpanRow[] = [];
  const open = new Set<SpanRow>();
  for (const row of rows) {
    if (row.startTimeUnixNano > asOf) continue;
    if (row.endTimeUnixNano <= asOf) {
      kept.push(row);
      continue;
    }
    const cut = cutRow(row, asOf);
    kept.push(cut);
    // A log row ends with its last stage; that later ones follow does not make the call open.
    if (!row.fromLogs) open.add(cut);
  }
  return { rows: kept, open };
}

function cutRow(row: SpanRow, asOf: bigint): SpanRow {
  const stages = row.stages.filter((stage) => stage.timeUnixNano !== 0n && stage.timeUnixNano <= asOf);
  return {
    ...row,
    endTimeUnixNano: row.fromLogs ? asOf : 0n,
    status: undefined,
    stages,
    seqs: stages.map((stage) => stage.seq).filter((seq) => seq !== undefined),
    attributes: Object.fromEntries(Object.entries(row.attributes).filter(([key]) => FROM_START.has(key))),
    timedOut: false,
    droppedEvents: 0,
  };
}

export function cutRecords(records: Records, asOf: bigint): Records {
  return {
    receipts: records.receipts.filter((row) => (row.receipt.atUnixNano ?? 0n) <= asOf),
    broken: records.broken,
    targets: records.targets.filter((row) => row.readAtUnixNano <= asOf),
    outbox: records.outbox.filter((row) => row.createdAtUnixNano <= asOf),
  };
}
