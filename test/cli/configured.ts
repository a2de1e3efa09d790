/** A folder of evidence, and audits of it with a configuration: exit code, what was complained of, what was said. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder, run } from './cli.js';
import { exportOf, receiptOf } from './evidence.js';

/** Two operations of two tools whose stream broke: each owes `stream-without-result` and `reply-lost`. */
const lost = (tool: string, number: number): string =>
  exportOf({
    operation: `${tool}:${number}`,
    call: `c-${number}`,
    tool,
    outcome: 'STREAM_INCOMPLETE',
    reason: 'reset',
  });
const receipts = [1, 2].map((number) =>
  receiptOf({ operation: `${number === 1 ? 'send_mail' : 'set_status'}:${number}`, call: `c-${number}` }),
);

export const place: { readonly path: string; readonly remove: () => void } = folder({
  'lost.jsonl': lost('send_mail', 1) + lost('set_status', 2),
  'one.jsonl': lost('send_mail', 1),
  'receipts.jsonl': receipts.join(''),
  'one.receipts.jsonl': receipts.slice(0, 1).join(''),
});
export interface JsonReport {
  readonly coverage: { readonly notes: readonly string[] };
  readonly summary: { readonly suppressed: number };
  readonly operations: readonly { readonly key: string; readonly verdict: string }[];
  readonly findings: readonly JsonFinding[];
  readonly suppressed: readonly (JsonFinding & {
    readonly suppression: { readonly reason: string; readonly until: string };
  })[];
}
export interface JsonFinding {
  readonly rule: string;
  readonly level: string;
  readonly tool: string | null;
  readonly operation: string | null;
  readonly message: string;
}

export interface Audited {
  readonly code: number | null;
  readonly stderr: string;
  readonly report: JsonReport;
}

let number = 0;
/** Writes the configuration as a person would and audits with it; of the report, what was said. */
export async function auditWith(config: string, ...args: readonly string[]): Promise<Audited> {
  number += 1;
  const file = `config-${number}.mjs`;
  writeFileSync(join(place.path, file), config);
  const inputs = args.some((arg) => arg.endsWith('.jsonl'))
    ? []
    : ['lost.jsonl', '--receipts', 'receipts.jsonl'];
  const ended = await run(['audit', ...inputs, ...args, '--config', file, '--format', 'json'], {
    cwd: place.path,
  });
  return {
    code: ended.code,
    stderr: ended.stderr,
    report: ended.stdout === '' ? NOTHING : (JSON.parse(ended.stdout) as JsonReport),
  };
}
export const NOTHING: JsonReport = {
  coverage: { notes: [] },
  summary: { suppressed: 0 },
  operations: [],
  findings: [],
  suppressed: [],
};

/** Level, rule and tool of each finding. */
export const rulesOf = ({ report }: Audited): readonly string[] =>
  report.findings.map(({ rule, level, tool }) => `${level} ${rule} ${tool ?? '-'}`);

/** What the two operations owe, each finding as `rulesOf` gives it. */
export const ALL: readonly string[] = [
  'warning reply-lost send_mail',
  'warning stream-without-result send_mail',
  'warning reply-lost set_status',
  'warning stream-without-result set_status',
];
