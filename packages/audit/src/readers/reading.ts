/** The state of one input while it is read: where the reader is, what it has counted, whom it tells. */
import type { Damage, InputGap, LogRecord, Resource, Scope, Sink, Span, SpanPeek } from '../model.js';
import type { EvidenceRef } from '../rule.js';
import { AlikeSpans } from './alike.js';
import type { AlikeRoot } from './alike.js';
import { isObject, type JsonObject } from './exact-json.js';
import type { ReadLimits } from './limits.js';

/** Shared objects kept per input before the cache starts afresh: distinct resources are few in honest exports. */
const CACHE_ENTRIES = 4_096;

export class Reading {
  readonly id: string;
  readonly sink: Sink;
  readonly limits: ReadLimits;
  /** Line (from 1) or byte offset of the record that is being read. */
  line: number | undefined = undefined;
  offset: number | undefined = undefined;
  /** Names the format once a record was understood. */
  format = '';
  spans = 0;
  logs = 0;
  /** Records (lines, documents, messages) that were understood. */
  records = 0;
  readonly damaged: Damage[] = [];
  /** True once the input has shown numbers that `JSON.parse` rounds: from then on it is parsed exactly at once. */
  exact = false;
  /** True while spans are delivered that the sink was asked for already. */
  asked = false;
  private damages = 0;
  private delivered = 0;
  private skip = 0;
  private readonly resources = new Map<string, Resource>();
  private readonly alikes: AlikeSpans | undefined;
  private alikeRoot: AlikeRoot | undefined = undefined;
  private readonly peek = new Peek();
  private readonly scopes = new Map<string, Scope>();

  constructor(id: string, sink: Sink, limits: ReadLimits) {
    this.id = id;
    this.sink = sink;
    this.limits = limits;
    const { alike } = sink;
    this.alikes = alike === undefined ? undefined : new AlikeSpans((name) => alike.useOf(name));
  }

  /** Begins a list of spans of one resource and scope. */
  group(resource: Resource, scope: Scope): void {
    const service = resource.serviceName;
    this.alikeRoot = this.alikes?.root(`${service.length} ${service} ${scope.name}`);
  }

  /** Whether the sink took the span as one that is like others; else it has to be read. */
  takesAlike(raw: JsonObject): boolean {
    const { alikes, alikeRoot: root, sink, id } = this;
    const alike = root && alikes?.of(raw, root);
    if (alikes === undefined || alike === undefined) return false;
    const isDue = this.delivered >= this.skip;
    alikes.span.line = this.line;
    alikes.span.offset = this.offset;
    if (isDue && sink.alike?.take(alike, alikes.span, id) !== true) return false;
    this.delivered += 1;
    if (isDue) this.spans += 1;
    return true;
  }

  at(traceId: string, spanId: string): EvidenceRef {
    const { id: source, line, offset } = this;
    if (offset !== undefined) return { source, offset, traceId, spanId };
    return line === undefined ? { source, traceId, spanId } : { source, line, traceId, spanId };
  }

  place(): EvidenceRef {
    const { id: source, line, offset } = this;
    if (offset !== undefined) return { source, offset };
    return line === undefined ? { source } : { source, line };
  }

  /** Begins a record. A record that is read a second time skips what its first reading has delivered. */
  begin(): void {
    this.delivered = 0;
    this.skip = 0;
  }

  again(): void {
    this.skip = this.delivered;
    this.delivered = 0;
  }

  private due(): boolean {
    this.delivered += 1;
    return this.delivered > this.skip;
  }

  /** Whether the sink wants this span; asked before anything of it is converted. */
  wants(name: unknown, attributes: unknown, scope: Scope, resource: Resource): boolean {
    const { sink, peek } = this;
    // The decoder of protobuf has asked before.
    if (sink.wants === undefined || this.asked) return true;
    peek.name = typeof name === 'string' ? name : '';
    peek.attributes = attributes;
    peek.scopeName = scope.name;
    peek.serviceName = resource.serviceName;
    if (sink.wants(peek)) return true;
    this.unwanted(1);
    return false;
  }

  /** Counts spans that the sink did not want. */
  unwanted(count: number): void {
    if (this.due()) this.spans += count;
  }

  span(span: Span): void {
    if (!this.due()) return;
    this.spans += 1;
    this.sink.span(span);
  }

  log(record: LogRecord): void {
    if (!this.due()) return;
    this.logs += 1;
    this.sink.log(record);
  }

  gap(kind: InputGap['kind'], note: string): void {
    if (this.due()) this.sink.gap({ kind, at: this.place(), note });
  }

  damage(reason: string, remedy: string, at: EvidenceRef = this.place()): void {
    if (!this.due()) return;
    this.damages += 1;
    if (this.damages > this.limits.maxDamages) return;
    const damage = { at, reason, remedy };
    this.damaged.push(damage);
    this.sink.damage(damage);
  }

  /** Reports what was too much to list. */
  end(): void {
    const unlisted = this.damages - this.limits.maxDamages;
    if (unlisted <= 0) return;
    const damage = {
      at: { source: this.id },
      reason: `${unlisted} more damaged places in this input`,
      remedy: 'repair or export again what the first places name, then audit again',
    };
    this.damaged.push(damage);
    this.sink.damage(damage);
  }

  /** The one Resource of this input for what the text of the record says of it. */
  resource(text: string, build: () => Resource): Resource {
    return shared(this.resources, text, build);
  }

  scope(text: string, build: () => Scope): Scope {
    return shared(this.scopes, text, build);
  }
}

/** Looks at a span of which nothing was converted yet; one object for all spans of an input. */
class Peek implements SpanPeek {
  name = '';
  scopeName = '';
  serviceName = '';
  attributes: unknown = undefined;

  hasKey(test: (key: string) => boolean): boolean {
    const { attributes } = this;
    if (Array.isArray(attributes)) {
      for (const item of attributes as readonly unknown[]) {
        const key: unknown = isObject(item) ? item['key'] : Array.isArray(item) ? item[0] : undefined;
        if (typeof key === 'string' && test(key)) return true;
      }
      return false;
    }
    return isObject(attributes) && Object.keys(attributes).some(test);
  }
}

function shared<T>(cache: Map<string, T>, key: string, build: () => T): T {
  const known = cache.get(key);
  if (known !== undefined) return known;
  if (cache.size >= CACHE_ENTRIES) cache.clear();
  const made = build();
  cache.set(key, made);
  return made;
}
