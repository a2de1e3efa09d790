/** Reads an input whole into lists; for tests. */
import type { Damage, InputGap, InputSummary, LogRecord, Sink, Span } from '../model.js';
import { readInput, type ReadOptions } from './read.js';
import type { InputSource } from './source.js';

export interface Collected {
  readonly spans: readonly Span[];
  readonly logs: readonly LogRecord[];
  readonly damages: readonly Damage[];
  readonly gaps: readonly InputGap[];
  readonly summary: InputSummary;
}

export async function collect(
  source: InputSource,
  options: ReadOptions & { readonly wants?: Sink['wants'] } = {},
): Promise<Collected> {
  const spans: Span[] = [];
  const logs: LogRecord[] = [];
  const damages: Damage[] = [];
  const gaps: InputGap[] = [];
  const { wants, ...rest } = options;
  const summary = await readInput(
    source,
    {
      ...(wants === undefined ? {} : { wants }),
      span: (span) => spans.push(span),
      log: (record) => logs.push(record),
      damage: (damage) => damages.push(damage),
      gap: (gap) => gaps.push(gap),
    },
    rest,
  );
  return { spans, logs, damages, gaps, summary };
}

/** Text or bytes as an input. */
export function bytesOf(content: string | Uint8Array): InputSource {
  return {
    kind: 'bytes',
    id: 's1',
    path: 'bytes',
    bytes: typeof content === 'string' ? Buffer.from(content) : content,
  };
}
