/**
 * Evidence by name and by place. The name is what the record says of itself (a span by its ids, a receipt by its id)
 * and is the same in every export of it; the place is where it was read.
 */
import { comparePlaces, compareText } from './evidence/rows.js';
import type { EvidenceRef } from './rule.js';

/**
 * `span:<trace id>:<span id>` or `receipt:<receipt id>`. A record without an id of its own (a read of the target, an
 * outbox row, a line that could not be read) has no other name than its place.
 */
export function evidenceName(at: EvidenceRef): string {
  if (isSpan(at)) return `span:${at.traceId ?? ''}:${at.spanId}`;
  if (at.receiptId !== undefined) return `receipt:${at.receiptId}`;
  return placeName(at);
}

/** `source:line`, for binary inputs `source@offset`; the source alone where it has neither. */
export function placeName(at: EvidenceRef): string {
  if (at.line !== undefined) return `${at.source}:${at.line}`;
  return at.offset === undefined ? at.source : `${at.source}@${at.offset}`;
}

/** What `evidenceName` is made of, with the event: the parts of a reference that no export changes. */
export function namedParts(at: EvidenceRef): Omit<EvidenceRef, 'source'> & { readonly source?: string } {
  const { source, line, offset, traceId, spanId, event, receiptId } = at;
  if (isSpan(at)) return { traceId, spanId, ...(event === undefined ? {} : { event }) };
  if (receiptId !== undefined) return { receiptId };
  return {
    source,
    ...(line === undefined ? {} : { line }),
    ...(offset === undefined ? {} : { offset }),
    ...(traceId === undefined ? {} : { traceId }),
  };
}

/** An order that is the same wherever the evidence was read: spans by their ids, receipts by theirs, then places. */
export function compareEvidence(a: EvidenceRef, b: EvidenceRef): number {
  const [one, two] = [kindOf(a), kindOf(b)];
  if (one !== two) return one - two;
  return (
    compareText(a.traceId ?? '', b.traceId ?? '') ||
    compareText(a.spanId ?? '', b.spanId ?? '') ||
    compareText(a.event ?? '', b.event ?? '') ||
    compareText(a.receiptId ?? '', b.receiptId ?? '') ||
    comparePlaces(a, b)
  );
}

function isSpan(at: EvidenceRef): at is EvidenceRef & { readonly spanId: string } {
  return at.spanId !== undefined && at.spanId !== '';
}

function kindOf(at: EvidenceRef): number {
  if (isSpan(at)) return 0;
  return at.receiptId === undefined ? 2 : 1;
}
