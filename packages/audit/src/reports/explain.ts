/** The story of one operation in sentences, each with the evidence that it rests on. */
import { OUTCOMES, STAGES, VERDICTS, VERDICT_ROWS, type Action } from '@waybill/core';
import type { AuditReport, Finding, ReportCall, ReportClientSide, ReportOperation } from '../report.js';
import { placeName } from '../places.js';
import { jsonFinding, jsonOperation } from './json.js';
import {
  findingsByOperation,
  isoTime,
  jsonText,
  pathsOf,
  placeTexts,
  plural,
  printable,
  wrapLine,
} from './text.js';

const todo: Readonly<Record<Action, string>> = {
  none: 'Nothing is left to do.',
  retry_same_operation_id: 'It may be sent again, under the same operation id.',
  read_back: 'Read the target back before anything else.',
  read_back_then_retry:
    'Read the target back; send it again only if the change is not there, under the same operation id.',
  fence_then_retry:
    'Fence the target first, so that the earlier attempt cannot land late; then send it again.',
  wait: 'Wait: evidence may still come.',
  continue_with_input: 'Give the input that the server asked for.',
  fix_request: 'Correct the request; sending the same again gives the same answer.',
  replay_receipt: 'Never execute it again; deliver its receipt again.',
  escalate: 'A person has to decide: the evidence contradicts itself.',
};

const ids: Readonly<Record<string, string>> = {
  caller: 'given by the caller',
  server: 'given by the server',
  framework: 'taken from the framework',
  argument: 'derived from the arguments',
  derived: 'derived from the surrounding operation',
  generated: 'generated for this call',
};

/**
 * Operations that a person may mean by `wanted`: the one of that key or id, else those with a call, span or trace of
 * that id, else those whose key contains it.
 */
export function findOperations(report: AuditReport, wanted: string): readonly ReportOperation[] {
  const tests: readonly ((operation: ReportOperation) => boolean)[] = [
    (operation) => operation.key === wanted || operation.operationId === wanted,
    (operation) =>
      operation.calls.some(
        (call) =>
          call.callId === wanted ||
          [call.client, call.server].some((side) => side?.spanId === wanted || side?.traceId === wanted),
      ),
    (operation) => operation.key.includes(wanted),
  ];
  for (const matches of tests) {
    const found = report.operations.filter(matches);
    if (found.length > 0) return found;
  }
  return [];
}

function sideStory(name: 'client' | 'server', side: ReportClientSide | null): readonly string[] {
  if (side === null) return [`  There is no record of the ${name}.`];
  const where = `[span ${side.spanId || '-'}, trace ${side.traceId || '-'}]`;
  const lines = [
    `  The ${name} (${printable(side.service) || 'no service name'}), from ${isoTime(side.startUnixNano)} ${where}:`,
  ];
  for (const stage of side.stages) {
    const brief = STAGES.find((definition) => definition.name === stage.name)?.brief ?? '';
    const after =
      stage.timeUnixNano > 0n ? `+${milliseconds(stage.timeUnixNano - side.startUnixNano)} ms` : 'time lost';
    lines.push(`    ${after.padStart(12)}  ${stage.name}: ${brief}`);
  }
  if (side.stages.length === 0) lines.push('    It recorded no stages.');
  if (side.outcome === null) lines.push('    It recorded no outcome.');
  else {
    const brief = OUTCOMES.find((row) => row.outcome === side.outcome)?.brief ?? '';
    const source = side.source === 'derived' ? ', derived from what its instrumentation recorded' : '';
    const reason = side.reason === null ? '' : ` (${side.reason})`;
    lines.push(`    It ended in ${side.outcome}${reason}${source}: ${brief}`);
  }
  return lines;
}

function milliseconds(nano: bigint): string {
  return (Number(nano) / 1e6).toFixed(1);
}

function callStory(call: ReportCall, count: number): readonly string[] {
  const joined =
    call.join === null || call.join === 'call_id'
      ? ''
      : `, its two sides joined by ${call.join.replaceAll('_', ' ')}`;
  const reply = call.server?.replyState;
  return [
    `Call ${printable(call.callId)}, ${call.attempt} of ${count}${joined}.`,
    ...sideStory('client', call.client),
    ...sideStory('server', call.server),
    ...(reply ? [`  Its reply was ${reply.replaceAll('_', ' ')}.`] : []),
    ...(call.flags.length > 0 ? [`  Beside it: ${call.flags.join(', ')}.`] : []),
  ];
}

function proofStory(operation: ReportOperation): readonly string[] {
  const lines = operation.receipts.map((receipt) => {
    const bound =
      receipt.object === null
        ? 'no target named'
        : `${printable(receipt.object)} version ${receipt.version ?? '-'}`;
    return `Receipt ${printable(receipt.receiptId)} says ${receipt.outcome}: ${bound}, ${receipt.verification}, ${receipt.level}.`;
  });
  if (lines.length === 0) {
    lines.push(operation.owesReceipt === 'no' ? 'No receipt is owed.' : 'There is no receipt.');
  }
  const { target } = operation;
  if (target !== null) {
    const fence = target.fenced ? ', and it is fenced' : '';
    lines.push(
      `The target ${printable(target.object)} was read: ${printable(target.state ?? 'state not given')}, version ${target.version ?? '-'} (${target.relation.replaceAll('_', ' ')})${fence}.`,
    );
  } else if (operation.effectKind !== 'read') lines.push('Nobody else read the target.');
  return lines;
}

function verdictStory(operation: ReportOperation): readonly string[] {
  const proven = VERDICTS.find((row) => row.verdict === operation.verdict)?.proven ?? '';
  const title = VERDICT_ROWS.find((row) => row.id === operation.rule)?.title ?? operation.reason;
  const { atLeast, atMost } = operation.effects;
  const effects =
    operation.effectKind === 'read'
      ? 'It is a read.'
      : `Effects proven: ${atLeast}; possible: ${atMost}. Assurance: ${operation.assurance}.`;
  return [
    `Verdict: ${operation.verdict}. ${proven}`,
    `  It follows from row ${operation.rule}: ${title}.`,
    `  ${effects}`,
    ...(operation.flags.length > 0 ? [`  Flags: ${operation.flags.join(', ')}.`] : []),
    `  ${todo[operation.action]}`,
  ];
}

/**
 * The whole story, lines ended by newlines.
 * @param width columns of the terminal; without it lines are as long as they are
 */
export function* explainOperation(
  report: AuditReport,
  operation: ReportOperation,
  width: number = Infinity,
): Generator<string> {
  const findings = findingsByOperation(report).get(operation.key) ?? [];
  const paths = pathsOf(report);
  const id =
    operation.idSource === null ? '' : `, its id ${ids[operation.idSource] ?? printable(operation.idSource)}`;
  const lines = [
    `Operation ${printable(operation.key)}: ${printable(operation.tool ?? 'unknown tool')} (${operation.effectKind})${id}; run ${printable(operation.runId ?? '-')}.`,
    operation.told === null
      ? 'What the caller was told is not recorded.'
      : `The caller was told ${operation.told}.`,
    '',
    ...operation.calls.flatMap((call) => callStory(call, operation.calls.length)),
    '',
    ...proofStory(operation),
    '',
    ...verdictStory(operation),
    '',
    findings.length === 0 ? 'No finding.' : `${plural(findings.length, 'finding')}:`,
    ...findings.flatMap((finding) => findingStory(finding, paths)),
    `Evidence: ${[...new Set(operation.places)].map((place) => withPath(place, paths)).join(', ')}`,
  ];
  for (const line of lines) yield `${wrapLine(line, width)}\n`;
}

function findingStory(finding: Finding, paths: ReadonlyMap<string, string>): readonly string[] {
  const doubt = finding.certainty === 'suspected' ? ' (suspected)' : '';
  const at = placeTexts(finding.at, paths).map(printable).join(', ');
  return [
    `  ${finding.level} ${finding.rule}${doubt}: ${printable(finding.message)}${at === '' ? '' : ` [${at}]`}`,
  ];
}

/** `s1:3` as `traces.jsonl:3`. */
function withPath(place: string, paths: ReadonlyMap<string, string>): string {
  const id = /^[^:@]+/.exec(place)?.[0] ?? place;
  return printable((paths.get(id) ?? id) + place.slice(id.length));
}

/** The operation and its findings as in the JSON report, each with the places where its evidence was read. */
export function explainJson(report: AuditReport, operation: ReportOperation): string {
  const findings = findingsByOperation(report).get(operation.key) ?? [];
  return `${jsonText(
    {
      operation: { ...jsonOperation(operation), places: operation.places },
      findings: findings.map((finding) => ({ ...jsonFinding(finding), places: finding.at.map(placeName) })),
    },
    2,
  )}\n`;
}
