import type { EffectKind } from '@waybill/core';
import { isPlainObject, read, readObject, readString } from '../patch/foreign.js';
import type { BoundedMap } from './bounded.js';
import type { Connection } from './connection.js';
import type { RuntimeCore } from './core.js';
import { bestPattern } from './patterns.js';

/** The hints of a tool that say what it may do (MCP, Tool.annotations). */
export interface Annotations {
  readonly readOnly: boolean | undefined;
  readonly destructive: boolean | undefined;
}

const RANK: Readonly<Record<EffectKind, number>> = { read: 0, unknown: 1, write: 2, destructive: 3 };

/**
 * What the hints say. A tool that says nothing stays `unknown`: the defaults of the protocol (not read-only, destructive)
 * are for whoever asks before a call, and would colour every unannotated tool here.
 */
export function kindOfAnnotations(annotations: Annotations): EffectKind {
  if (annotations.readOnly === true) return 'read';
  if (annotations.destructive === true) return 'destructive';
  if (annotations.destructive === false || annotations.readOnly === false) return 'write';
  return 'unknown';
}

export function readAnnotations(tool: unknown): Annotations {
  const hints = readObject(tool, 'annotations');
  const flag = (key: string): boolean | undefined => {
    const value = read(hints, key);
    return typeof value === 'boolean' ? value : undefined;
  };
  return { readOnly: flag('readOnlyHint'), destructive: flag('destructiveHint') };
}

/** Tools taken from one `tools/list` result; more would be a peer that wants our memory. */
const MAX_LISTED = 2048;

/** Remembers the annotations in a `tools/list` result. Reads three members of each tool. */
export function rememberTools(tools: BoundedMap<string, Annotations>, result: unknown): void {
  const list = read(result, 'tools');
  if (!Array.isArray(list)) return;
  for (const tool of list.slice(0, MAX_LISTED) as unknown[]) {
    const name = readString(tool, 'name');
    if (name !== undefined) tools.set(name, readAnnotations(tool));
  }
}

/**
 * The client's view: configuration first, then the caller's word; a hint from the other side may raise that and never
 * lowers it unless `trustToolAnnotations`.
 */
export function clientEffectKind(
  core: RuntimeCore,
  connection: Connection,
  tool: string,
  named: EffectKind | undefined,
): EffectKind {
  const configured = configuredKind(core, connection, tool);
  const base = configured ?? named;
  const known = connection.tools.get(tool);
  const hinted = known === undefined ? 'unknown' : kindOfAnnotations(known);
  if (base === undefined && core.config().trustToolAnnotations === true) return hinted;
  const start = base ?? 'unknown';
  // No hint is no hint: it raises nothing.
  return hinted !== 'unknown' && RANK[hinted] > RANK[start] ? hinted : start;
}

/** The server's view: its own registration is authoritative. */
export function serverEffectKind(core: RuntimeCore, connection: Connection, tool: string): EffectKind {
  const configured = configuredKind(core, connection, tool);
  if (configured !== undefined) return configured;
  const registered = read(read(core.highLevelServers.get(connection.protocol), '_registeredTools'), tool);
  if (isPlainObject(registered)) return kindOfAnnotations(readAnnotations(registered));
  const listed = connection.tools.get(tool);
  return listed === undefined ? 'unknown' : kindOfAnnotations(listed);
}

function configuredKind(core: RuntimeCore, connection: Connection, tool: string): EffectKind | undefined {
  const kinds = core.config().effectKinds;
  return kinds === undefined ? undefined : bestPattern(kinds, connection.serverName, tool);
}
