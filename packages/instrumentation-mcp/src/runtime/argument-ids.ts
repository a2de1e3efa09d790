import { createHash, createHmac, randomBytes } from 'node:crypto';
import { canonicalJson } from '@waybill/core';
import { isPlainObject, readOwn } from '../patch/foreign.js';
import type { OperationRule, ToolCallInfo } from '../types.js';

/** Characters of base64url kept of a SHA-256: 132 bits. */
const DIGEST_LENGTH = 22;

/** Digest of the arguments for comparing two calls of one process. Never leaves it. */
export function argumentsDigest(value: unknown): string {
  return createHash('sha256').update(stableText(value)).digest('base64url');
}

/**
 * The id of a call that follows from another operation: the same parent, server, tool and arguments give the same id,
 * so that a repeated outer call re-creates those of its inner calls.
 */
export function derivedId(
  key: string | Uint8Array | undefined,
  parent: string,
  server: string | undefined,
  info: ToolCallInfo & { readonly tool: string },
): string {
  const text = stableText([parent, server ?? null, info.tool, info.arguments ?? null]);
  // Without a key of the operator's the parent id keys the digest: guessing arguments from it needs the parent too.
  return createHmac('sha256', key ?? parent)
    .update(text)
    .digest('base64url')
    .slice(0, DIGEST_LENGTH);
}

/** Used where no `digestKey` is configured: ids then agree inside this process only. */
const processKey = randomBytes(32);

/** The id that a rule makes of the arguments. One missing member gives none: a partial id would join strangers. */
export function idFromRule(
  rule: OperationRule,
  info: ToolCallInfo & { readonly tool: string },
  runId: string | undefined,
  key: string | Uint8Array | undefined,
): string | undefined {
  if (typeof rule === 'function') return rule(info);
  const picked: [string, unknown][] = [];
  for (const name of rule.args) {
    const value = pick(info.arguments, name);
    if (value === undefined) return undefined;
    picked.push([name, value]);
  }
  if (rule.scope === 'run' && runId === undefined) return undefined;
  const scope = rule.scope === 'run' ? runId : undefined;
  if (rule.plain === true) {
    const parts = picked.map(([name, value]) => `${name.replace(/^\//, '')}=${plainText(value)}`);
    return [info.tool, ...(scope === undefined ? [] : [`run=${scope}`]), ...parts].join(':');
  }
  const text = stableText([info.tool, scope ?? null, picked]);
  const digest = createHmac('sha256', key ?? processKey)
    .update(text)
    .digest('base64url');
  return `${info.tool}:${digest.slice(0, DIGEST_LENGTH)}`;
}

/** A top-level name, or a JSON Pointer (RFC 6901); `/` alone is all arguments. */
function pick(from: unknown, name: string): unknown {
  if (!name.startsWith('/')) return readOwn(from, name);
  if (name === '/') return from;
  let current: unknown = from;
  for (const step of name.slice(1).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!isPlainObject(current) && !Array.isArray(current)) return undefined;
    current = readOwn(current, key);
  }
  return current;
}

function plainText(value: unknown): string {
  return typeof value === 'string' ? value : stableText(value);
}

/**
 * One text for one JSON value, whatever the order of its members. What JSON would not carry is dropped as on the wire;
 * a value that cannot be written at all equals nothing, not even itself.
 */
function stableText(value: unknown): string {
  try {
    const wire: unknown = JSON.parse(JSON.stringify(value ?? null) ?? 'null');
    return canonicalJson(wire);
  } catch {
    return crypto.randomUUID();
  }
}
