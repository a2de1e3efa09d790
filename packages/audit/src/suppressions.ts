/** Which findings are suppressed, and what the report says of suppressions that no longer do anything. */
import type { Finding, SuppressedFinding } from './report.js';
import type { Suppression } from './rule.js';

export interface Suppressing {
  readonly kept: readonly Finding[];
  readonly suppressed: readonly SuppressedFinding[];
  /** One sentence for each suppression that has ended or that matches nothing. */
  readonly notes: readonly string[];
}

/**
 * The first suppression that fits a finding decides.
 * @param notEvaluated rules that were not asked: that a suppression of theirs matches nothing says nothing
 */
export function suppress(
  findings: readonly Finding[],
  suppressions: readonly Suppression[],
  asOfUnixNano: bigint,
  notEvaluated: ReadonlySet<string>,
): Suppressing {
  const kept: Finding[] = [];
  const suppressed: SuppressedFinding[] = [];
  const used = new Set<Suppression>();
  for (const finding of findings) {
    const found = suppressions.find((each) => matches(each, finding));
    if (found === undefined) {
      kept.push(finding);
      continue;
    }
    used.add(found);
    if (isOver(found, asOfUnixNano)) kept.push(finding);
    else suppressed.push({ ...finding, suppression: { reason: found.reason, until: found.until } });
  }
  const notes = suppressions.flatMap((each) => {
    if (!used.has(each)) return notEvaluated.has(each.rule) ? [] : [unusedText(each)];
    return isOver(each, asOfUnixNano) ? [endedText(each)] : [];
  });
  return { kept, suppressed, notes: [...new Set(notes)].sort() };
}

function endedText({ rule, until, reason }: Suppression): string {
  return `the suppression of ${rule} ended on ${until} (${reason}); its findings count again`;
}

function unusedText({ rule, tool, operation, reason }: Suppression): string {
  const about = [
    ...(tool === undefined ? [] : [`tool ${tool}`]),
    ...(operation === undefined ? [] : [`operation ${operation}`]),
  ];
  const where = about.length === 0 ? '' : ` for ${about.join(', ')}`;
  return `the suppression of ${rule}${where} (${reason}) matches no finding; take it out, or correct its patterns`;
}

function matches(suppression: Suppression, finding: Finding): boolean {
  return (
    suppression.rule === finding.rule &&
    (suppression.operation === undefined || matchesPattern(suppression.operation, finding.operation ?? '')) &&
    (suppression.tool === undefined || matchesPattern(suppression.tool, finding.tool ?? ''))
  );
}

/**
 * `*` stands for any text; everything else for itself. The first place at which a part fits is taken, so that the time
 * grows with the length of pattern and text and not with their powers: ids come from the evidence.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

/** Holds to the end of its day (UTC); judged by the time of the evidence, so that a report stays the same. */
function isOver(suppression: Suppression, asOfUnixNano: bigint): boolean {
  const day = Date.parse(suppression.until);
  if (Number.isNaN(day)) return true;
  const end = suppression.until.length <= 10 ? day + 86_400_000 : day;
  return asOfUnixNano >= BigInt(end) * 1_000_000n;
}
