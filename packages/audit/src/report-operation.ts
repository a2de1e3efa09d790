/** One judged operation as the report shows it. */
import { ATTR_REPLY_STATE } from '@waybill/core';
import { attributeOf, kindOf, targetRead } from './evidence/facts.js';
import type { JudgedOperation } from './evidence/index.js';
import { outcomeOf, stagesOf } from './evidence/side.js';
import { compareEvidence, evidenceName, placeName } from './places.js';
import type { ReportCall, ReportOperation, ReportServerSide } from './report.js';
import type { EvidenceRef } from './rule.js';

export function operationOfReport({ group, judgement, operation }: JudgedOperation): ReportOperation {
  const { decision } = judgement;
  const target = targetRead(judgement);
  const evidence = evidenceOf({ group, judgement, operation });
  return {
    key: group.key,
    operationId: group.operationId ?? null,
    idSource: group.idSource ?? null,
    runId: group.runId ?? null,
    tool: operation.tool ?? null,
    effectKind: kindOf(group, judgement),
    verdict: decision.verdict,
    rule: decision.row,
    reason: decision.reason,
    action: decision.action,
    flags: judgement.flags,
    told: judgement.told ?? null,
    effect: judgement.effect,
    evidenceState: judgement.evidence,
    assurance: judgement.assurance,
    effects: judgement.effects,
    owesReceipt: operation.owesReceipt,
    calls: judgement.legs.map((leg, index) =>
      callOfReport(leg.call, index + 1, operation.calls[index]?.flags ?? []),
    ),
    receipts: operation.receipts.map((receipt) => ({
      receiptId: receipt.receiptId,
      outcome: receipt.outcome,
      level: receipt.level,
      verification: receipt.verification,
      object: receipt.object ?? null,
      version: receipt.version ?? null,
    })),
    target:
      target === undefined
        ? null
        : {
            object: target.object,
            state: target.state ?? null,
            version: target.version ?? null,
            fenced: target.fenced,
            relation: target.relation,
          },
    evidence: evidence.map(evidenceName),
    places: evidence.map(placeName),
  };
}

function callOfReport(
  call: JudgedOperation['group']['calls'][number],
  attempt: number,
  flags: readonly string[],
): ReportCall {
  const client = sideOfReport(call.client);
  const server = sideOfReport(call.server);
  return {
    callId: call.callId ?? call.id,
    attempt,
    join: client !== null && server !== null ? call.join : null,
    flags,
    client,
    server,
  };
}

function sideOfReport(rows: JudgedOperation['group']['calls'][number]['client']): ReportServerSide | null {
  const [first] = rows;
  if (first === undefined) return null;
  const outcome = outcomeOf(rows)?.value;
  return {
    traceId: first.traceId,
    spanId: first.spanId,
    outcome: outcome?.outcome ?? null,
    reason: outcome?.reason ?? null,
    source: outcome?.source ?? null,
    stages: stagesOf(rows).map(({ name, timeUnixNano }) => ({ name, timeUnixNano })),
    startUnixNano: first.startTimeUnixNano,
    endUnixNano: first.endTimeUnixNano,
    service: first.service,
    replyState: attributeOf(rows, ATTR_REPLY_STATE) ?? null,
  };
}

/** Rows of one side may come in the order in which they were read; here they stand by their ids. */
function evidenceOf({ group }: JudgedOperation): readonly EvidenceRef[] {
  const spans = group.calls.flatMap((call) =>
    [call.client, call.server].flatMap((rows) =>
      rows
        .map((row): EvidenceRef => ({ ...row.at, traceId: row.traceId, spanId: row.spanId }))
        .sort(compareEvidence),
    ),
  );
  const receipts = new Set([...group.receipts, ...group.misbound]);
  const besides = distinct([...receipts, ...group.broken, ...group.targets, ...group.outbox]);
  return [...spans, ...besides.sort(compareEvidence)];
}

/** A record that was given twice is one fact, and its first place is named. */
function distinct(rows: readonly { readonly at: EvidenceRef }[]): EvidenceRef[] {
  if (rows.length < 2) return rows.map((row) => row.at);
  const first = new Map<string, EvidenceRef>();
  for (const { at, ...content } of rows.toSorted((a, b) => compareEvidence(a.at, b.at))) {
    const key = JSON.stringify(content, (_, value: unknown) =>
      typeof value === 'bigint' ? `${value}n` : value,
    );
    if (!first.has(key)) first.set(key, at);
  }
  return [...first.values()];
}
