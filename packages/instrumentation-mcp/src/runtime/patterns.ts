/** Keys `tool` or `server/tool`, in which `*` matches any run of characters inside one segment. */

/** The value of the most specific key that matches: with a server before without, then the fewest `*`, then the longest. */
export function bestPattern<T>(
  table: Readonly<Record<string, T>>,
  server: string | undefined,
  tool: string,
): T | undefined {
  let best: { readonly value: T; readonly score: readonly number[] } | undefined;
  for (const [pattern, value] of Object.entries(table)) {
    if (!matches(pattern, server, tool)) continue;
    const stars = pattern.split('*').length - 1;
    const score = [pattern.includes('/') ? 1 : 0, -stars, pattern.length];
    if (best === undefined || compare(score, best.score) > 0) best = { value, score };
  }
  return best?.value;
}

function matches(pattern: string, server: string | undefined, tool: string): boolean {
  const slash = pattern.indexOf('/');
  if (slash === -1) return segment(pattern, tool);
  // A tool name may itself hold a slash.
  if (segment(pattern, tool)) return true;
  return (
    server !== undefined &&
    segment(pattern.slice(0, slash), server) &&
    segment(pattern.slice(slash + 1), tool)
  );
}

function segment(pattern: string, text: string): boolean {
  if (!pattern.includes('*')) return pattern === text;
  const parts = pattern.split('*');
  const first = parts[0] ?? '';
  const last = parts.at(-1) ?? '';
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last))
    return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

function compare(left: readonly number[], right: readonly number[]): number {
  for (const [index, value] of left.entries()) {
    const difference = value - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
