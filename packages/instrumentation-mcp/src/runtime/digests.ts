import { createHmac } from 'node:crypto';
import type { Span } from '@opentelemetry/api';
import { ATTR_ARGS_DIGEST, ATTR_RESULT_DIGEST, type JsonValue, canonicalJson } from '@waybill/core';
import { isFunction } from '../patch/foreign.js';
import type { ToolCallInfo } from '../types.js';
import type { RuntimeCore } from './core.js';

/** A larger value has no digest, so that no call is slowed by its size. In characters of JSON. */
const MAX_LENGTH = 65_536;
const MAX_DEPTH = 100;

/**
 * Sets the digest of the arguments, where a `digestKey` is configured. Absent arguments are the empty object: the protocol
 * takes them for the same.
 */
export function setArgumentDigest(core: RuntimeCore, span: Span, info: ToolCallInfo): void {
  const digest = digestOf(core, info.arguments ?? {}, undefined);
  if (digest !== undefined) span.setAttribute(ATTR_ARGS_DIGEST, digest);
}

/** Sets the digest of a result without its `_meta`, which each side changes, where a `digestKey` is configured. */
export function setResultDigest(core: RuntimeCore, span: Span, result: unknown): void {
  if (result === undefined) return;
  const digest = digestOf(core, result, '_meta');
  if (digest !== undefined) span.setAttribute(ATTR_RESULT_DIGEST, digest);
}

/** `hmac-sha256:<hex>` of the canonical form (RFC 8785) of what JSON carries of a value. */
function digestOf(core: RuntimeCore, value: unknown, without: string | undefined): string | undefined {
  const { digestKey } = core.config();
  if (digestKey === undefined) return undefined;
  try {
    const copy = copyJson(value, without, { left: MAX_LENGTH }, 0);
    if (copy === undefined) return undefined;
    const text = canonicalJson(copy, { fractions: 'allow' });
    return `hmac-sha256:${createHmac('sha256', digestKey).update(text).digest('hex')}`;
  } catch {
    return undefined; // too large, or nothing that has one text: equal to nothing
  }
}

interface Budget {
  left: number;
}

/** What `JSON.stringify` would write of a value, as plain data. Throws beyond the bounds. */
function copyJson(
  value: unknown,
  without: string | undefined,
  budget: Budget,
  depth: number,
): JsonValue | undefined {
  if (depth > MAX_DEPTH) throw new RangeError('too deep');
  switch (typeof value) {
    case 'string':
      spend(budget, value.length);
      return value;
    case 'number':
      spend(budget, 1);
      return Number.isFinite(value) ? value : null;
    case 'boolean':
      spend(budget, 1);
      return value;
    case 'object':
      return value === null ? null : copyObject(value, without, budget, depth);
    case 'bigint':
      throw new TypeError('a bigint has no JSON form');
    default:
      return undefined;
  }
}

function copyObject(
  value: object,
  without: string | undefined,
  budget: Budget,
  depth: number,
): JsonValue | undefined {
  spend(budget, 2);
  if (value instanceof Date) return value.toJSON();
  // What another `toJSON` does is the application's: it is called once, by whoever writes the message.
  if ('toJSON' in value && isFunction(value.toJSON)) throw new TypeError('writes itself');
  if (Array.isArray(value)) {
    return Array.from(value, (item: unknown) => copyJson(item, undefined, budget, depth + 1) ?? null);
  }
  const copy: Record<string, JsonValue> = Object.create(null) as Record<string, JsonValue>;
  for (const [key, member] of Object.entries(value as Record<string, unknown>)) {
    if (key === without) continue;
    spend(budget, key.length);
    const inner = copyJson(member, undefined, budget, depth + 1);
    if (inner !== undefined) copy[key] = inner;
  }
  return copy;
}

function spend(budget: Budget, characters: number): void {
  budget.left -= characters + 1;
  if (budget.left < 0) throw new RangeError('too large');
}
