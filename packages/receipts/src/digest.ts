import { createHash, createHmac } from 'node:crypto';
import { canonicalBytes } from '@waybill/core';

/**
 * Digest of a JSON value: `sha256:<hex>` of its canonical bytes (RFC 8785), or `hmac-sha256:<hex>` with a key, which
 * keeps guessable values from being guessed.
 *
 * @throws CanonicalError for what is no JSON value.
 */
export function digestOf(value: unknown, key: Uint8Array | undefined): string {
  const bytes = canonicalBytes(value, { fractions: 'allow' });
  return key === undefined
    ? `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    : `hmac-sha256:${createHmac('sha256', key).update(bytes).digest('hex')}`;
}
