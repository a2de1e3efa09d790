/**
 * The receipt statement `waybill/receipt/1`: what the service that performed an effect can show for it. It names the
 * operation, the target with the version that was seen, and the writer; it holds no parameters and no results, only
 * their digests. Its published form is `schemas/receipt-1.json`.
 */
export const RECEIPT_VERSION = 'waybill/receipt/1';

/** Largest canonical statement in bytes. */
export const MAX_RECEIPT_BYTES = 16_384;

export const RECEIPT_OUTCOMES = ['applied', 'refused', 'failed'] as const;
/** `refused`: the writer declined and nothing was applied; `failed`: it tried, and the target does not show it. */
export type ReceiptOutcome = (typeof RECEIPT_OUTCOMES)[number];

export const RECEIPT_STAGES = ['committed', 'read_back'] as const;
/** `committed`: written with the effect; `read_back`: the target was read again on another connection. */
export type ReceiptStage = (typeof RECEIPT_STAGES)[number];

export interface ReceiptTarget {
  /** System that holds the object, for instance `todo`. */
  readonly system: string;
  readonly type?: string;
  /** Id of the object in that system. */
  readonly id: string;
  /** Digest of what the object was to show afterwards. */
  readonly expected_hash?: string;
  /** Version that the writer saw after the effect, or after its failure. An applied receipt without one is unbound. */
  readonly observed_version?: string | number;
  /** Digest of what the object showed; equal to `expected_hash` when they agree. */
  readonly observed_hash?: string;
  /** Version that the writer demanded before the effect. */
  readonly precondition_version?: string | number;
}

export interface ReceiptSource {
  readonly service: string;
  /** One incarnation of the service. */
  readonly instance: string;
  /** Key that the statement is signed with; the envelope must name the same. */
  readonly key_id: string;
}

export interface ReceiptStatement {
  readonly v: typeof RECEIPT_VERSION;
  /** Idempotency key of the receipt itself: the same id with the same bytes is one receipt. */
  readonly receipt_id: string;
  /** Made with the effect; receipts that name the same effect speak of one. */
  readonly effect_id?: string;
  readonly operation_id: string;
  /** From 1. */
  readonly attempt: number;
  readonly outcome: ReceiptOutcome;
  readonly stage: ReceiptStage;
  /** `sha256:<hex>` or, for guessable values, `hmac-sha256:<hex>` of the canonical parameters. */
  readonly params_hash: string;
  readonly target: ReceiptTarget;
  readonly source: ReceiptSource;
  readonly run_id?: string;
  readonly call_id?: string;
  /** 32 hex digits. */
  readonly trace_id?: string;
  /** 16 hex digits. */
  readonly span_id?: string;
  /** When the effect was committed, refused or given up: nanoseconds since the Unix epoch, UTC, as text. */
  readonly effect_at: string;
  /** When the target was read: nanoseconds since the Unix epoch, UTC, as text. */
  readonly observed_at: string;
}

type Check = (value: unknown) => string | undefined;
interface Field {
  readonly required: boolean;
  readonly check: Check;
}

const text: Check = (value) =>
  typeof value === 'string' && /^[\s\S]{1,200}$/u.test(value)
    ? undefined
    : 'must be text of 1 to 200 characters';
const oneOf =
  (values: readonly string[]): Check =>
  (value) =>
    typeof value === 'string' && values.includes(value) ? undefined : `must be one of ${values.join(', ')}`;
const matching =
  (pattern: RegExp, what: string): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value) ? undefined : `must be ${what}`;
const version: Check = (value) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? undefined
    : text(value) && 'must be text of 1 to 200 characters or an integer from 0 to 2^53 - 1';
const hash = matching(/^(?:sha256|hmac-sha256):[0-9a-f]{64}$/, 'sha256:<hex> or hmac-sha256:<hex>');
const time = matching(/^(?:0|[1-9]\d{0,18})$/, 'nanoseconds since the Unix epoch as decimal text');
const attempt: Check = (value) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
    ? undefined
    : 'must be an integer from 1';

const required = (check: Check): Field => ({ required: true, check });
const optional = (check: Check): Field => ({ required: false, check });

const TARGET: Readonly<Record<keyof ReceiptTarget, Field>> = {
  system: required(text),
  type: optional(text),
  id: optional(text),
  expected_hash: optional(hash),
  observed_version: optional(version),
  observed_hash: optional(hash),
  precondition_version: optional(version),
};
const SOURCE: Readonly<Record<keyof ReceiptSource, Field>> = {
  service: required(text),
  instance: required(text),
  key_id: required(text),
};
const STATEMENT: Readonly<Record<keyof ReceiptStatement, Field>> = {
  v: required(oneOf([RECEIPT_VERSION])),
  receipt_id: required(text),
  effect_id: optional(text),
  operation_id: required(text),
  attempt: required(attempt),
  outcome: required(oneOf(RECEIPT_OUTCOMES)),
  stage: required(oneOf(RECEIPT_STAGES)),
  params_hash: required(hash),
  target: required((value) => checkObject(value, TARGET)),
  source: required((value) => checkObject(value, SOURCE)),
  run_id: optional(text),
  call_id: optional(text),
  trace_id: optional(matching(/^[0-9a-f]{32}$/, '32 lower-case hex digits')),
  span_id: optional(matching(/^[0-9a-f]{16}$/, '16 lower-case hex digits')),
  effect_at: required(time),
  observed_at: required(time),
};

function checkObject(value: unknown, fields: Readonly<Record<string, Field>>): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object';
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(fields, key)) return `.${key} is no field of ${RECEIPT_VERSION}`;
  }
  for (const [key, field] of Object.entries(fields)) {
    if (!Object.hasOwn(value, key)) {
      if (field.required) return `.${key} is missing`;
      continue;
    }
    const problem = field.check((value as Readonly<Record<string, unknown>>)[key]);
    if (problem !== undefined) return problem.startsWith('.') ? `.${key}${problem}` : `.${key} ${problem}`;
  }
  return undefined;
}

/**
 * What is wrong with a value as a receipt statement, naming the field; undefined when nothing is. Target id and the
 * version of an applied effect may be missing here: such a receipt is read as unbound, and the schema refuses it.
 */
export function statementProblem(value: unknown): string | undefined {
  const problem = checkObject(value, STATEMENT);
  return problem === undefined ? undefined : problem.replace(/^\./, '');
}

/** The statement is bound: it names the target's id and, where an effect was applied, the version that shows it. */
export function isBound(statement: ReceiptStatement): boolean {
  const { id, observed_version } = statement.target as Partial<ReceiptTarget>;
  return id !== undefined && (observed_version !== undefined || statement.outcome !== 'applied');
}
