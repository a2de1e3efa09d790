/** Which files the auditor follows, and what it reads back of its own progress file. */
import path from 'node:path';
import type { TallyCounts } from './tally.js';
import { START, Tail, type Place, type TailForm } from './tail.js';

type SourceKind = 'traces' | 'receipts' | 'targets' | 'outbox';

/** A file that is followed. */
export interface Source {
  readonly id: string;
  readonly kind: SourceKind;
  readonly tail: Tail;
  /** Name among the receiver's files; undefined for a file of somebody else. */
  readonly own: string | undefined;
}

export interface SourceOptions {
  readonly directory: string;
  readonly receipts?: readonly string[];
  readonly targets?: readonly string[];
  readonly outbox?: readonly string[];
}

export function sourcesOf(
  options: SourceOptions,
  places: Readonly<Record<string, unknown>>,
): readonly Source[] {
  const make = (id: string, kind: SourceKind, file: string, form: TailForm = 'lines'): Source => ({
    id,
    kind,
    tail: new Tail(file, placeOf(places[id]), form),
    own: undefined,
  });
  const received = (id: string, own: string, form: TailForm): Source => ({
    ...make(id, 'traces', path.join(options.directory, own), form),
    own,
  });
  const numbered = (name: 'receipts' | 'targets' | 'outbox', files: readonly string[]): readonly Source[] =>
    files.map((file, index) => make(index === 0 ? name : `${name}${index + 1}`, name, path.resolve(file)));
  return [
    received('s1', 'traces.jsonl', 'lines'),
    received('s2', 'logs.jsonl', 'lines'),
    received('s3', 'traces.binpb', 'frames'),
    received('s4', 'logs.binpb', 'frames'),
    ...numbered('receipts', options.receipts ?? []),
    ...numbered('targets', options.targets ?? []),
    ...numbered('outbox', options.outbox ?? []),
  ];
}

function placeOf(value: unknown): Place {
  const { offset, line, file } = membersOf(value);
  return typeof offset === 'number' && typeof line === 'number' && typeof file === 'string'
    ? { offset, line, file }
    : START;
}

export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

export function countsOf(value: unknown): TallyCounts {
  const numbers = (members: unknown): Record<string, number> =>
    Object.fromEntries(
      Object.entries(membersOf(members)).filter(
        (entry): entry is [string, number] => typeof entry[1] === 'number',
      ),
    );
  const { verdicts, findings } = membersOf(value);
  return { verdicts: numbers(verdicts), findings: numbers(findings) };
}
