/**
 * What is kept of a span or a stage log: one compact row, no span object, no attribute of noise. Everything behind the
 * readers works on rows.
 */
import type { Stage } from '@waybill/core';
import type { AttributeValue } from '../model.js';
import type { EvidenceRef } from '../rule.js';

/** `tool` is a GenAI tool call seen by a framework, not by an MCP boundary. */
export type Role = 'client' | 'server' | 'tool';

export interface StageRow {
  readonly name: Stage;
  /** 0n when only `waybill.stages` names the stage. */
  readonly timeUnixNano: bigint;
  readonly seq: number | undefined;
  readonly at: EvidenceRef;
}

export type KeptAttributes = Readonly<Record<string, AttributeValue>>;

export interface SpanRow {
  readonly role: Role;
  /** Written by Waybill's plugin: only its stages and their absence mean anything. */
  readonly own: boolean;
  /** Known from stage logs alone; there is no span. */
  readonly fromLogs: boolean;
  readonly scope: string;
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly startTimeUnixNano: bigint;
  /** 0n where there is none. */
  readonly endTimeUnixNano: bigint;
  readonly status: 'unset' | 'ok' | 'error' | undefined;
  readonly method: string;
  readonly tool: string | undefined;
  readonly rpcId: string | undefined;
  readonly callId: string | undefined;
  readonly operationId: string | undefined;
  readonly attributes: KeptAttributes;
  readonly stages: readonly StageRow[];
  /** Every sequence number seen, also of events that are no stages, ascending and distinct. */
  readonly seqs: readonly number[];
  /** An exception event of a timeout: the one thing that some emitters say about it. */
  readonly timedOut: boolean;
  readonly droppedEvents: number;
  /** Flags of the span say that its parent was not sampled, or a log says that its span was not. */
  readonly unsampled: boolean;
  /** First place by source and line; copies of the same record elsewhere are the same fact. */
  readonly at: EvidenceRef;
  /** Another record with the same ids says something else. */
  readonly contested: boolean;
}

export function textOf(attributes: KeptAttributes, key: string): string | undefined {
  const value = attributes[key];
  if (typeof value === 'string') return value === '' ? undefined : value;
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : undefined;
}

/** A list attribute, also when the export could only carry it as JSON text or as one text. */
export function listOf(attributes: KeptAttributes, key: string): readonly string[] {
  const value = attributes[key];
  if (Array.isArray(value)) return value.filter((item): item is string => typeof item === 'string');
  if (typeof value !== 'string' || value === '') return [];
  if (!value.startsWith('[')) return value.split(',').map((item) => item.trim());
  try {
    const parsed: unknown = JSON.parse(value);
    return Array.isArray(parsed) ? parsed.filter((item): item is string => typeof item === 'string') : [];
  } catch {
    return [];
  }
}

export function isTrue(attributes: KeptAttributes, key: string): boolean {
  const value = attributes[key];
  return value === true || value === 'true';
}

/** Order of places: source, then line, then offset. Sources sort by their number: `s2` before `s10`. */
export function comparePlaces(a: EvidenceRef, b: EvidenceRef): number {
  return (
    compareSources(a.source, b.source) ||
    (a.line ?? 0) - (b.line ?? 0) ||
    (a.offset ?? 0) - (b.offset ?? 0) ||
    compareText(a.traceId ?? '', b.traceId ?? '') ||
    compareText(a.spanId ?? '', b.spanId ?? '') ||
    compareText(a.event ?? '', b.event ?? '')
  );
}

function compareSources(a: string, b: string): number {
  if (a === b) return 0;
  return a.length - b.length || compareText(a, b);
}

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function compareBig(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
