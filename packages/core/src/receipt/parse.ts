/**
 * One line of a receipts file to one receipt, whatever its form: a plain receipt, a bare statement, or a signed
 * envelope. Lines come from outside and may be damaged or hostile: nothing here throws.
 */
import { hash } from 'node:crypto';
import { canonicalJson, duplicateKey, hasDistinctKeys } from './canonical.js';
import { RECEIPT_PAYLOAD_TYPE, strictBase64, verifySignature } from './envelope.js';
import type { KeySource } from './envelope.js';
import { plainReceipt } from './plain.js';
import { MAX_RECEIPT_BYTES, RECEIPT_VERSION, isBound, statementProblem } from './statement.js';
import type { ReceiptOutcome, ReceiptStage, ReceiptStatement } from './statement.js';

/**
 * `unsigned`: no signature; `valid`: signed by the key that the receipt names, and that key is trusted; `invalid`: the
 * signature does not hold; `unknown_key`: signed by a key that the reader was not given.
 */
export type ReceiptVerification = 'unsigned' | 'valid' | 'invalid' | 'unknown_key';

/** A receipt in the one form that the auditor works with. */
export interface ParsedReceipt {
  readonly kind: 'receipt';
  readonly form: 'plain' | 'statement';
  /** Given by the writer; a plain receipt without one gets a digest of its content, so that copies are one. */
  readonly receiptId: string;
  readonly effectId: string | undefined;
  readonly operationId: string | undefined;
  readonly callId: string | undefined;
  readonly runId: string | undefined;
  readonly traceId: string | undefined;
  readonly spanId: string | undefined;
  readonly attempt: number | undefined;
  readonly outcome: ReceiptOutcome;
  readonly stage: ReceiptStage;
  /** `bound` names target id and version. */
  readonly binding: 'bound' | 'unbound';
  readonly target: {
    readonly system: string | undefined;
    readonly type: string | undefined;
    readonly id: string | undefined;
    /** Version seen by the writer, as text: `2` and `"2"` are one version. */
    readonly version: string | undefined;
    readonly preconditionVersion: string | undefined;
  };
  /** What the target was to show and what it showed: canonical JSON of the value, or its digest. Compare for equality. */
  readonly expected: string | undefined;
  readonly observed: string | undefined;
  readonly paramsHash: string | undefined;
  readonly source: string | undefined;
  readonly keyId: string | undefined;
  /** When the effect was settled, nanoseconds since the Unix epoch. */
  readonly atUnixNano: bigint | undefined;
  readonly verification: ReceiptVerification;
}

export type InvalidReason =
  | 'empty'
  | 'too_large'
  | 'not_json'
  | 'duplicate_key'
  | 'not_a_receipt'
  | 'not_canonical'
  | 'bad_envelope'
  | 'bad_field';

/** A line that is no receipt, and why. */
export interface InvalidReceipt {
  readonly kind: 'invalid';
  readonly reason: InvalidReason;
  /** What was wrong and where in the line. */
  readonly detail: string;
  /** The operation that the line claims to be about, where it can be read: such a receipt is evidence of damage. */
  readonly operationId: string | undefined;
}

export interface ParseOptions {
  /** Public keys that are trusted to sign receipts. Without it every signature is of an unknown key. */
  readonly keys?: KeySource;
}

/** An envelope is base64 of a statement and a few signatures. */
const MAX_LINE_BYTES = 2 * MAX_RECEIPT_BYTES;

/** Reads one line; a leading byte order mark and white space around it are tolerated. Never throws. */
export function parseReceipt(line: string, options: ParseOptions = {}): ParsedReceipt | InvalidReceipt {
  try {
    return parse(line.replace(/^\uFEFF/, '').trim(), options);
  } catch (error) {
    // Nothing above is known to throw; a defect of this reader must not end the reading of a file.
    return invalid('not_a_receipt', error instanceof Error ? error.message : String(error));
  }
}

function parse(line: string, options: ParseOptions): ParsedReceipt | InvalidReceipt {
  if (line === '') return invalid('empty', 'the line is empty');
  const size = Buffer.byteLength(line);
  if (size > MAX_LINE_BYTES) {
    return invalid('too_large', `${size} bytes, the limit of a line is ${MAX_LINE_BYTES}`);
  }
  const read = readJson(line);
  if ('kind' in read) return read;
  const { value } = read;
  if (Object.hasOwn(value, 'payloadType') || Object.hasOwn(value, 'signatures'))
    return openEnvelope(value, options);
  if (Object.hasOwn(value, 'v')) return readStatement(line, value, 'unsigned');
  if (size > MAX_RECEIPT_BYTES) return tooLarge(size, value);
  const plain = plainReceipt(value);
  if (typeof plain === 'string') return invalid('bad_field', plain, claimOf(value));
  const receiptId = plain.receiptId ?? `sha256:${hash('sha256', canonical(value))}`;
  return { ...plain, receiptId };
}

type Members = Readonly<Record<string, unknown>>;

function readJson(text: string): { readonly value: Members } | InvalidReceipt {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return invalid('not_json', error instanceof Error ? error.message : 'it cannot be parsed');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return invalid('not_a_receipt', 'a receipt is a JSON object');
  }
  const twice = hasDistinctKeys(text, value as Members) ? undefined : duplicateKey(text);
  if (twice !== undefined) {
    return invalid(
      'duplicate_key',
      `${twice} is there twice; readers would disagree about it`,
      claimOf(value as Members),
    );
  }
  return { value: value as Members };
}

function openEnvelope(envelope: Members, options: ParseOptions): ParsedReceipt | InvalidReceipt {
  const { payloadType, payload, signatures } = envelope as {
    payloadType?: unknown;
    payload?: unknown;
    signatures?: unknown;
  };
  if (payloadType !== RECEIPT_PAYLOAD_TYPE) {
    return invalid('bad_envelope', `payloadType must be ${RECEIPT_PAYLOAD_TYPE}`);
  }
  const bytes = typeof payload === 'string' ? strictBase64(payload) : undefined;
  if (bytes === undefined) return invalid('bad_envelope', 'payload must be base64 with its padding');
  const text = decodeUtf8(bytes);
  if (text === undefined) return invalid('not_canonical', 'the payload is not UTF-8');
  const read = readJson(text);
  if ('kind' in read) return read;
  const claim = claimOf(read.value);
  if (!Array.isArray(signatures) || signatures.length === 0) {
    return invalid('bad_envelope', 'signatures must hold at least one signature', claim);
  }
  const keyId = keyIdOf(read.value);
  const own = signatures.find(
    (entry: unknown): entry is { keyid: string; sig: string } =>
      typeof entry === 'object' &&
      entry !== null &&
      'keyid' in entry &&
      'sig' in entry &&
      entry.keyid === keyId &&
      typeof entry.sig === 'string',
  );
  if (keyId === undefined || own === undefined) {
    return invalid('bad_envelope', 'no signature names the key of the statement (source.key_id)', claim);
  }
  const key = options.keys?.get(keyId);
  const verification =
    key === undefined ? 'unknown_key' : verifySignature(bytes, own.sig, key) ? 'valid' : 'invalid';
  return readStatement(text, read.value, verification);
}

function readStatement(
  text: string,
  value: Members,
  verification: ReceiptVerification,
): ParsedReceipt | InvalidReceipt {
  const claim = claimOf(value);
  const size = Buffer.byteLength(text);
  if (size > MAX_RECEIPT_BYTES) return tooLarge(size, value);
  const problem = statementProblem(value);
  if (problem !== undefined) return invalid('bad_field', problem, claim);
  // Fields first: a number that has no canonical form is named by its field.
  if (canonical(value) !== text) {
    return invalid('not_canonical', `a ${RECEIPT_VERSION} is written in canonical JSON (RFC 8785)`, claim);
  }
  const statement = value as unknown as ReceiptStatement;
  const { target, source } = statement;
  return {
    kind: 'receipt',
    form: 'statement',
    receiptId: statement.receipt_id,
    effectId: statement.effect_id,
    operationId: statement.operation_id,
    callId: statement.call_id,
    runId: statement.run_id,
    traceId: statement.trace_id,
    spanId: statement.span_id,
    attempt: statement.attempt,
    outcome: statement.outcome,
    stage: statement.stage,
    binding: isBound(statement) ? 'bound' : 'unbound',
    target: {
      system: target.system,
      type: target.type,
      id: target.id,
      version: asText(target.observed_version),
      preconditionVersion: asText(target.precondition_version),
    },
    expected: target.expected_hash,
    observed: target.observed_hash,
    paramsHash: statement.params_hash,
    source: source.service,
    keyId: source.key_id,
    atUnixNano: BigInt(statement.effect_at),
    verification,
  };
}

function canonical(value: unknown): string {
  try {
    return canonicalJson(value, { fractions: 'allow' });
  } catch {
    // No canonical form (a lone surrogate): equal to no text, and its own JSON identifies a copy.
    return ` ${JSON.stringify(value)}`;
  }
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function asText(version: string | number | undefined): string | undefined {
  return version === undefined ? undefined : String(version);
}

function keyIdOf(value: Members): string | undefined {
  const source = value['source'];
  if (typeof source !== 'object' || source === null || !('key_id' in source)) return undefined;
  return typeof source.key_id === 'string' ? source.key_id : undefined;
}

function claimOf(value: Members): string | undefined {
  const id = value['operation_id'];
  return typeof id === 'string' && id.length > 0 && id.length <= 200 ? id : undefined;
}

function tooLarge(size: number, value: Members): InvalidReceipt {
  return invalid(
    'too_large',
    `${size} bytes, the limit of a receipt is ${MAX_RECEIPT_BYTES}`,
    claimOf(value),
  );
}

function invalid(reason: InvalidReason, detail: string, operationId?: string): InvalidReceipt {
  return { kind: 'invalid', reason, detail, operationId };
}
