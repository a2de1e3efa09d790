import { ATTR_OUTCOME, ATTR_OUTCOME_REASON, ATTR_SDK_OUTCOME, OUTCOMES, type Outcome } from '@waybill/core';
import { ATTR_HTTP_RESPONSE_STATUS_CODE, flagsOf, type PlayResult } from './peers.js';
import { code, table } from './page.js';
import { toldOf, type Told } from './told.js';
import { AMENDMENTS, COLUMNS, LEFT_OUT, TRANSCRIPTS, type Era, type Transcript } from './transcripts.js';

export interface PlayedTranscript extends PlayResult {
  readonly era: Era;
  readonly transcript: Transcript;
}

interface Reading {
  readonly id: string;
  readonly era: Era;
  readonly outcome: Outcome;
  readonly said: string;
  readonly told: Told;
  /** The span says that the SDK told something else than the wire. */
  readonly differs: boolean;
}

function readingOf({ era, late, observed, spans, transcript }: PlayedTranscript): Reading {
  const attributes = spans[0]?.attributes ?? {};
  const outcome = attributes[ATTR_OUTCOME] as Outcome;
  const reason = attributes[ATTR_OUTCOME_REASON];
  const status = outcome === 'HTTP_ERROR' ? ` ${String(attributes[ATTR_HTTP_RESPONSE_STATUS_CODE])}` : '';
  const said = [
    outcome + status,
    typeof reason === 'string' ? ` ${code(reason)}` : '',
    ...flagsOf({ spans, late }).map((flag) => `, ${code(flag)}`),
  ];
  return {
    id: transcript.id,
    era,
    outcome,
    said: said.join(''),
    told: toldOf(observed.settled[0], { outcome, contentMissing: lacksContent(transcript) }),
    differs: attributes[ATTR_SDK_OUTCOME] !== undefined,
  };
}

/** A JSON reply with a result that has no `content` of its own. */
function lacksContent({ reply }: Transcript): boolean {
  const [[, bytes] = [0, ''], ...more] = reply.chunks ?? [];
  const text = String(bytes);
  if (more.length > 0 || !text.startsWith('{')) return false;
  try {
    const { result } = JSON.parse(text.replaceAll(/\$[A-Z]+/g, '1')) as { result?: object };
    return result !== undefined && !('content' in result);
  } catch {
    return false;
  }
}

/** The part of docs/wire-cases.md that the transcripts fill. */
export function transcriptPart(played: readonly PlayedTranscript[]): readonly string[] {
  const readings = played.map(readingOf);
  const columns = readings.filter(({ era }) => COLUMNS.includes(era));
  return [
    ...lessons(columns),
    '',
    '### One row a transcript',
    '',
    `A star: Waybill writes \`${ATTR_SDK_OUTCOME}\`, since the SDK told its caller something else than the wire said.`,
    '',
    ...table(
      ['id', 'what the server did', 'Waybill', ...COLUMNS.map(({ name }) => `${name} told`)],
      TRANSCRIPTS.map(({ id, title }) => {
        const row = columns.filter((reading) => reading.id === id);
        return [
          id,
          title,
          saidIn(row),
          ...row.map(({ told, differs }) => `${told.name}${differs ? ' *' : ''}`),
        ];
      }),
    ),
    '',
    '### What the short names stand for',
    '',
    ...legend(readings),
    '',
    '### Further eras',
    '',
    ...table(
      ['id', 'era', 'Waybill', 'told'],
      readings
        .filter(({ era }) => !COLUMNS.includes(era))
        .map(({ id, era, said, told, differs }) => [
          id,
          era.name,
          said,
          `${told.name}${differs ? ' *' : ''}`,
        ]),
    ),
    '',
    'Left out:',
    '',
    ...LEFT_OUT.map(
      ({ era, ids, why }) => `- ${era}, ${ids === 'all others' ? ids : ids.join(', ')}: ${why}.`,
    ),
    '',
    'Where the expectation of the case file is amended:',
    '',
    ...AMENDMENTS.map(({ id, from, why }) => `- ${id}${from === undefined ? '' : ` from ${from}`}: ${why}.`),
  ];
}

/** One text where the eras agree; else the one of each version. */
function saidIn(row: readonly Reading[]): string {
  const versions = new Map<string, Set<string>>();
  for (const { era, said } of row) versions.set(said, (versions.get(said) ?? new Set()).add(era.version));
  const [[only] = ['']] = versions;
  return versions.size === 1
    ? only
    : [...versions].map(([said, eras]) => `${[...eras].join(', ')}: ${said}`).join('; ');
}

function lessons(readings: readonly Reading[]): string[] {
  const count = (test: (reading: Reading) => boolean): number => readings.filter(test).length;
  const of = (outcome: Outcome): number => count((reading) => reading.outcome === outcome);
  const told = (outcome: Outcome, ...kinds: readonly Told['kind'][]): number =>
    count((reading) => reading.outcome === outcome && kinds.includes(reading.told.kind));
  const timeouts = count(({ told: { kind } }) => kind === 'timeout');
  const slow = told('TIMEOUT', 'timeout');
  return [
    `${TRANSCRIPTS.length} transcripts, each with ${COLUMNS.length} clients: ${readings.length} plays. What to learn from them:`,
    '',
    `- Of ${timeouts} calls that an SDK reported as timed out, ${slow} were answered too late; for the other ${timeouts - slow} the wire holds a fact that says more.`,
    `- Replies cut off or never dispatched (STREAM_INCOMPLETE): ${of('STREAM_INCOMPLETE')}, of which ${told('STREAM_INCOMPLETE', 'timeout')} were told as timeouts.`,
    `- Replies that are no response of this request (INVALID_ENVELOPE): ${of('INVALID_ENVELOPE')}, of which ${told('INVALID_ENVELOPE', 'result', 'hollow')} were told as success and ${told('INVALID_ENVELOPE', 'timeout')} as timeouts.`,
    `- Results that are no tool result (INVALID_TOOL_RESULT): ${of('INVALID_TOOL_RESULT')}, of which ${told('INVALID_TOOL_RESULT', 'result', 'hollow')} were told as success.`,
    `- Task handles (TASK_PENDING): ${of('TASK_PENDING')}, of which ${told('TASK_PENDING', 'result', 'hollow')} were told as success. Hollow results in all, with a \`content\` that no server sent: ${count(({ told: { kind } }) => kind === 'hollow')}.`,
    `- Tool errors (TOOL_ERROR): ${of('TOOL_ERROR')}, of which ${told('TOOL_ERROR', 'error')} reached the caller as an error about the schema and not as the tool's own.`,
    '',
    ...table(
      ['wire', 'plays', 'told as result', 'hollow result', 'timeout', 'abort', 'another error'],
      OUTCOMES.map(({ outcome }) => outcome as Outcome)
        .filter((outcome) => of(outcome) > 0)
        .map((outcome) => [
          outcome,
          of(outcome),
          told(outcome, 'result'),
          told(outcome, 'hollow'),
          told(outcome, 'timeout'),
          told(outcome, 'abort'),
          told(outcome, 'error'),
        ]),
    ),
  ];
}

function legend(readings: readonly Reading[]): string[] {
  const sdks = ['v1', 'v2'] as const;
  const general = (name: string): string => name.replace(/^(HTTP|RPC error) -?\d+$/, '$1 N');
  const names = [...new Set(readings.map(({ told }) => general(told.name)))].sort();
  return table(
    ['told', 'SDK 1.x', 'SDK 2.x'],
    names.map((name) => [
      name,
      ...sdks.map((sdk) => {
        const full = readings
          .filter(({ era, told }) => era.client.startsWith(sdk) && general(told.name) === name)
          .map(({ told }) => told.full);
        return [...new Set(full)].sort().join('; ') || '–';
      }),
    ]),
  );
}
