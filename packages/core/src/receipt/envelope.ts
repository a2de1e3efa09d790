/**
 * The signed form of a receipt: a DSSE envelope (dsse, "Dead Simple Signing Envelope", v1.0.2) around the canonical
 * bytes of the statement, signed with Ed25519 (RFC 8032). DSSE and not the bare bytes, because its pre-authentication
 * encoding puts the payload type under the signature: a signature over a receipt can be passed off as nothing else.
 *
 * Signing and verifying call `node:crypto`; both are functions of their arguments, with no clock and no randomness
 * (Ed25519 is deterministic), which is why they may live among pure functions.
 */
import { sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { canonicalBytes } from './canonical.js';
import { MAX_RECEIPT_BYTES, isBound, statementProblem } from './statement.js';
import type { ReceiptStatement } from './statement.js';

/** Payload type of the envelope. */
export const RECEIPT_PAYLOAD_TYPE = 'application/vnd.waybill.receipt+json';

/** What signs receipts: a key in this process, or one behind a service. */
export interface Signer {
  /** Names the key; it is stated in the receipt and in the envelope. */
  readonly keyId: string;
  /** @returns 64 bytes, the Ed25519 signature over `bytes`. */
  sign(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** Where verifiers find public keys; a `Map` from key id to key fits. */
export interface KeySource {
  get(keyId: string): KeyObject | undefined;
}

export interface Envelope {
  readonly payloadType: typeof RECEIPT_PAYLOAD_TYPE;
  /** Canonical bytes of the statement, base64. */
  readonly payload: string;
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
}

/**
 * A signer over an Ed25519 private key in memory.
 *
 * @throws TypeError for a key of another type.
 */
export function ed25519Signer(keyId: string, privateKey: KeyObject): Signer {
  if (privateKey.type !== 'private' || privateKey.asymmetricKeyType !== 'ed25519') {
    throw new TypeError(`signer ${keyId} needs an Ed25519 private key`);
  }
  return { keyId, sign: (bytes) => sign(null, bytes, privateKey) };
}

/** The bytes that are signed: DSSE's pre-authentication encoding of type and payload. */
export function preAuthenticationEncoding(payloadType: string, payload: Uint8Array): Uint8Array {
  const type = new TextEncoder().encode(payloadType);
  return Buffer.concat([
    Buffer.from(`DSSEv1 ${type.byteLength} `),
    type,
    Buffer.from(` ${payload.byteLength} `),
    payload,
  ]);
}

/**
 * Signs a statement.
 *
 * @returns the envelope as one line of JSON, without a line end.
 * @throws TypeError when the statement has a wrong or missing field, is unbound, over 16 KiB, or names another key.
 */
export async function signReceipt(statement: ReceiptStatement, signer: Signer): Promise<string> {
  const problem = statementProblem(statement);
  if (problem !== undefined) throw new TypeError(`receipt not signed: ${problem}`);
  if (!isBound(statement)) {
    throw new TypeError('receipt not signed: target.id or target.observed_version is missing');
  }
  if (statement.source.key_id !== signer.keyId) {
    throw new TypeError(
      `receipt not signed: source.key_id is ${statement.source.key_id}, the signer is ${signer.keyId}`,
    );
  }
  const payload = canonicalBytes(statement);
  if (payload.byteLength > MAX_RECEIPT_BYTES) {
    throw new TypeError(`receipt not signed: ${payload.byteLength} bytes, the limit is ${MAX_RECEIPT_BYTES}`);
  }
  const signature = await signer.sign(preAuthenticationEncoding(RECEIPT_PAYLOAD_TYPE, payload));
  const envelope: Envelope = {
    payloadType: RECEIPT_PAYLOAD_TYPE,
    payload: Buffer.from(payload).toString('base64'),
    signatures: [{ keyid: signer.keyId, sig: Buffer.from(signature).toString('base64') }],
  };
  return JSON.stringify(envelope);
}

/** Decodes base64 that is exactly what an encoder writes; undefined for anything else, which would be malleable. */
export function strictBase64(value: string): Uint8Array | undefined {
  const bytes = Buffer.from(value, 'base64');
  return bytes.toString('base64') === value ? bytes : undefined;
}

/** True when `signature` is the key's Ed25519 signature of the envelope's bytes. Never throws. */
export function verifySignature(payload: Uint8Array, signature: string, publicKey: KeyObject): boolean {
  const bytes = strictBase64(signature);
  if (bytes?.byteLength !== 64 || publicKey.asymmetricKeyType !== 'ed25519') return false;
  try {
    return verify(null, preAuthenticationEncoding(RECEIPT_PAYLOAD_TYPE, payload), publicKey, bytes);
  } catch {
    // A key object that cannot verify (a secret key, a foreign engine) verifies nothing.
    return false;
  }
}
