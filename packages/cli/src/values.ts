/** Values of options. Each throws `InvalidArgumentError`, which the command line turns into exit code 2. */
import { InvalidArgumentError } from 'commander';

/** Milliseconds, not negative. */
export function parseMilliseconds(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0) {
    throw new InvalidArgumentError('Expected milliseconds, for instance 60000.');
  }
  return value;
}

/** 0 to 65535; 0 takes any free port. */
export function parsePort(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65_535)
    throw new InvalidArgumentError('Expected a port from 0 to 65535.');
  return value;
}

/**
 * A moment as nanoseconds since the epoch: ISO 8601 with a time zone, or nanoseconds as an integer of 16 digits and
 * more. Seconds and milliseconds are refused, since a mistaken unit would move the moment by years.
 */
export function parseMoment(text: string): bigint {
  if (/^\d{16,20}$/.test(text)) return BigInt(text);
  const parts = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?)(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/.exec(text);
  const milliseconds = parts ? Date.parse(`${parts[1] ?? ''}${parts[3] ?? ''}`) : Number.NaN;
  if (!parts || Number.isNaN(milliseconds)) {
    throw new InvalidArgumentError(
      'Expected a moment like 2026-09-21T16:53:20Z (with a time zone), or nanoseconds since the epoch.',
    );
  }
  return BigInt(milliseconds) * 1_000_000n + BigInt((parts[2] ?? '').padEnd(9, '0'));
}
