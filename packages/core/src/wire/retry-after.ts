/**
 * Reads a `Retry-After` value (RFC 9110 section 10.2.3): whole seconds, or a date.
 *
 * @param value the header as received
 * @param nowMs milliseconds since the epoch; a date without it cannot be turned into a delay
 * @returns the delay in milliseconds, 0 for a date that has passed, undefined for anything that is neither
 */
export function parseRetryAfter(value: string | null | undefined, nowMs?: number): number | undefined {
  if (value === null || value === undefined) return undefined;
  const text = value.trim();
  if (/^\d+$/.test(text)) {
    const delay = Number(text) * 1000;
    return Number.isSafeInteger(delay) ? delay : undefined;
  }
  // Only the three date forms of RFC 9110 begin with a day's name; `Date.parse` alone takes nearly anything.
  if (
    nowMs === undefined ||
    !/^(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?\b/i.test(text)
  ) {
    return undefined;
  }
  // The asctime form names no zone and means UTC.
  const date = Date.parse(/\b(?:GMT|UTC)$/i.test(text) ? text : `${text} GMT`);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
