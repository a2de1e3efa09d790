/** Exit codes, in their order of precedence: a usage error beats everything, findings beat weak evidence. */
export const EXIT = { ok: 0, findings: 1, usage: 2, unreadable: 3, evidence: 4 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An error that a person can act on: what is wrong, where, and what to do. Printed without a stack. */
export class CliError extends Error {
  readonly exitCode: ExitCode;
  readonly remedy: string;

  constructor(exitCode: ExitCode, message: string, remedy: string) {
    super(message);
    this.name = 'CliError';
    this.exitCode = exitCode;
    this.remedy = remedy;
  }
}

/** `ENOENT` and its like, where the error carries one. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Two lines: what was wrong, and the remedy where the error knows one (of this package or of another). An error that
 * nobody foresaw is a defect of ours: it says so and shows where it came from.
 */
export function describeError(error: unknown): string {
  const remedy =
    error instanceof Error && 'remedy' in error && typeof error.remedy === 'string'
      ? error.remedy
      : undefined;
  if (remedy !== undefined) return `waybill: ${messageOf(error)}\n  Remedy: ${remedy}\n`;
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  return (
    `waybill: unexpected error: ${messageOf(error)}\n` +
    `  Remedy: this is a defect of waybill; report it with these lines.\n${stack}\n`
  );
}
