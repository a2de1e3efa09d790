/**
 * The plain receipt: a line that any service can write without a library. With `observed` and `version` it says that
 * the writer read its target back. It is unsigned: it proves what its writer says, to those who trust its place.
 */
import { canonicalJson } from './canonical.js';
import { RECEIPT_OUTCOMES, RECEIPT_STAGES } from './statement.js';
import type { ReceiptStage } from './statement.js';
import type { ParsedReceipt } from './parse.js';

/** One plain receipt as it is written; times are nanoseconds since the Unix epoch as decimal text. */
export interface PlainReceipt {
  readonly receipt_id?: string;
  readonly effect_id?: string;
  readonly operation_id: string | null;
  readonly call_id?: string;
  readonly run_id?: string;
  /** From 1. */
  readonly attempt?: number;
  readonly system?: string;
  /** Id of the object in the system. */
  readonly object?: string;
  /** What the object was to show. */
  readonly expected?: unknown;
  /** What it showed when it was read back. */
  readonly observed?: unknown;
  /** Version that was seen. */
  readonly version?: string | number;
  /** Default: `read_back` when `observed` and `version` are there, else `committed`. */
  readonly stage?: ReceiptStage;
  readonly result: (typeof RECEIPT_OUTCOMES)[number];
  readonly at: string;
  /** The service that wrote it. */
  readonly source: string;
}

const MAX_ID = 200;

/** Reads the members of a plain receipt, or says which one is wrong. Members that are not known are left alone. */
export function plainReceipt(
  value: Readonly<Record<string, unknown>>,
): (Omit<ParsedReceipt, 'receiptId'> & { readonly receiptId: string | undefined }) | string {
  for (const key of TEXTS) {
    const member = value[key];
    if (member === undefined || member === null) continue;
    if (typeof member !== 'string' || member.length === 0 || member.length > MAX_ID) {
      return `${key} must be text of 1 to ${MAX_ID} characters`;
    }
  }
  const outcome = RECEIPT_OUTCOMES.find((name) => name === value['result']);
  if (outcome === undefined) return `result must be one of ${RECEIPT_OUTCOMES.join(', ')}`;
  const operationId = textOf(value, 'operation_id');
  const callId = textOf(value, 'call_id');
  if (operationId === undefined && callId === undefined) {
    return 'operation_id or call_id must be there: the receipt belongs to no operation';
  }
  const version = versionOf(value['version']);
  if (version === null) return 'version must be text or an integer below 2^53';
  const expected = comparable(value['expected']);
  const observed = comparable(value['observed']);
  if (expected === null || observed === null) return 'expected and observed must be values of JSON';
  const at = value['at'];
  if (at !== undefined && (typeof at !== 'string' || !/^\d{1,19}$/.test(at))) {
    return 'at must be nanoseconds since the Unix epoch as decimal text';
  }
  const attempt = value['attempt'];
  if (
    attempt !== undefined &&
    (typeof attempt !== 'number' || !Number.isSafeInteger(attempt) || attempt < 1)
  ) {
    return 'attempt must be an integer from 1';
  }
  const stage = value['stage'];
  const said = RECEIPT_STAGES.find((name) => name === stage);
  if (stage !== undefined && said === undefined) return `stage must be one of ${RECEIPT_STAGES.join(', ')}`;
  const id = textOf(value, 'object');
  return {
    kind: 'receipt',
    form: 'plain',
    receiptId: textOf(value, 'receipt_id'),
    effectId: textOf(value, 'effect_id'),
    operationId,
    callId,
    runId: textOf(value, 'run_id'),
    traceId: textOf(value, 'trace_id'),
    spanId: textOf(value, 'span_id'),
    attempt,
    outcome,
    stage: said ?? (observed !== undefined && version !== undefined ? 'read_back' : 'committed'),
    binding: id !== undefined && (version !== undefined || outcome !== 'applied') ? 'bound' : 'unbound',
    target: {
      system: textOf(value, 'system'),
      type: textOf(value, 'type'),
      id,
      version,
      preconditionVersion: undefined,
    },
    expected,
    observed,
    paramsHash: undefined,
    source: textOf(value, 'source'),
    keyId: undefined,
    atUnixNano: at === undefined ? undefined : BigInt(at),
    verification: 'unsigned',
  };
}

const TEXTS = [
  'receipt_id',
  'effect_id',
  'operation_id',
  'call_id',
  'run_id',
  'trace_id',
  'span_id',
  'system',
  'type',
  'object',
  'source',
] as const;

function textOf(value: Readonly<Record<string, unknown>>, key: (typeof TEXTS)[number]): string | undefined {
  const member = value[key];
  return typeof member === 'string' ? member : undefined;
}

/** Null for what is no version. */
function versionOf(value: unknown): string | undefined | null {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  return typeof value === 'string' && value.length > 0 && value.length <= MAX_ID ? value : null;
}

/** Canonical text for comparing; null for what has none. A JSON null is a value like any other. */
function comparable(value: unknown): string | undefined | null {
  if (value === undefined) return undefined;
  try {
    return canonicalJson(value, { fractions: 'allow' });
  } catch {
    return null;
  }
}
