/**
 * Spans that are alike. An export holds thousands of spans that differ in ids, times and a few values only, and to
 * convert each of them costs more than to parse its JSON. A span in the plain form of OTLP JSON walks down a tree of
 * what was seen before: the leaf stands for everything that spans of this likeness share, and what is its own is handed
 * over as it stands. Any other form, and whatever is damaged, is read in the ordinary way.
 */
import { ATTRIBUTE_ALIASES } from '@waybill/core';
import type { Alike, AlikeSpan, AttributeUse } from '../model.js';
import { isObject, type JsonObject } from './exact-json.js';
import { headOf, isCount, isPlainLink, isText, plainValue, pushTime, readHex } from './plain-forms.js';

/** Leaves and inner nodes kept per input; an export with more likenesses is read in the ordinary way. */
const MAX_NODES = 1 << 16;
/** Longer texts are content; they are looked at one by one. */
const MAX_TEXT = 1_000;

/** One step: a name, and where its value is part of the likeness a branch for each value. */
class Node {
  /** UNNAMED until the first span passes. */
  name: string;
  use: AttributeUse;
  next: Node | undefined = undefined;
  byValue: Map<unknown, Node> | undefined = undefined;
  /** The value that came last, and where it led: most often it comes again. */
  lastValue: unknown = undefined;
  lastNode: Node | undefined = undefined;
  /** Another name at the same place. */
  other: Node | undefined = undefined;
  leaf: Alike | undefined = undefined;

  constructor(name: string, use: AttributeUse) {
    this.name = name;
    this.use = use;
  }
}

/** A place that no span has passed. Should an export use the name, its span is read in the ordinary way. */
const UNNAMED = '\u0000';
/** Ends a list of attributes; no name of an export is empty here, since such a span is read in the ordinary way. */
const END = '';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class AlikeSpans {
  readonly #useOf: (name: string) => AttributeUse;
  readonly #uses = new Map<string, AttributeUse>();
  readonly #roots = new Map<string, Node>();
  #nodes = 0;
  /** What is the own of the span that `of` was asked about last; one object for all. */
  readonly span: Mutable<AlikeSpan> & { values: AlikeSpan['values'][number][]; times: number[] } = {
    traceId: '',
    spanId: '',
    ids: new Uint32Array(8),
    hasParent: false,
    times: [],
    values: [],
    line: undefined,
    offset: undefined,
  };

  constructor(useOf: (name: string) => AttributeUse) {
    this.#useOf = useOf;
  }

  /** The start of the tree for spans of one source, resource and scope. */
  root(key: string): Node | undefined {
    const known = this.#roots.get(key);
    if (known !== undefined) return known;
    const made = this.#node('name', 'same');
    if (made !== undefined) this.#roots.set(key, made);
    return made;
  }

  /** What the span shares with others; undefined for a span that has to be read in the ordinary way. */
  of(raw: JsonObject, root: Node): Alike | undefined {
    const { traceId, spanId, parentSpanId = '', name, kind, links, status } = raw;
    if (typeof name !== 'string' || typeof kind !== 'number') return undefined;
    if (typeof traceId !== 'string' || typeof spanId !== 'string' || typeof parentSpanId !== 'string')
      return undefined;
    const { ids } = this.span;
    if (!readHex(traceId, 4, ids, 0) || !readHex(spanId, 2, ids, 4)) return undefined;
    const hasParent = parentSpanId !== '';
    if (hasParent && !readHex(parentSpanId, 2, ids, 6)) return undefined;
    if (links !== undefined && !(Array.isArray(links) && links.every(isPlainLink))) return undefined;
    if (raw['droppedEventsCount'] !== undefined && raw['droppedEventsCount'] !== 0) return undefined;
    if (raw['parent_span_id'] !== undefined || raw['dropped_events_count'] !== undefined) return undefined;
    if (!isText(raw['traceState']) || !isCount(raw['droppedAttributesCount'])) return undefined;
    if (!isCount(raw['droppedLinksCount'])) return undefined;
    const span = this.span;
    const { values, times } = span;
    span.traceId = traceId;
    span.spanId = spanId;
    span.hasParent = hasParent;
    values.length = 0;
    times.length = 0;
    if (!pushTime(times, raw['startTimeUnixNano']) || !pushTime(times, raw['endTimeUnixNano']))
      return undefined;
    const head = headOf(kind, status, raw['flags']);
    if (head === undefined) return undefined;
    let node = this.#branch(root, name);
    node = node && this.#branch(node, head);
    node = node && this.#attributes(node, raw['attributes'] ?? NONE);
    const events = raw['events'] ?? NONE;
    if (node === undefined || !Array.isArray(events)) return undefined;
    for (const event of events as readonly unknown[]) {
      if (
        !isObject(event) ||
        typeof event['name'] !== 'string' ||
        event['name'] === END ||
        event['name'] === UNNAMED
      )
        return undefined;
      if (!pushTime(times, event['timeUnixNano']) || !isCount(event['droppedAttributesCount']))
        return undefined;
      const named = this.#named(node, event['name'], 'unused');
      node = named && this.#step(named);
      node = node && this.#attributes(node, event['attributes'] ?? NONE);
      if (node === undefined) return undefined;
    }
    node.leaf ??= { names: this.#namesOf(raw), plan: undefined };
    return node.leaf;
  }

  /** Goes down along the attributes; undefined where one of them has to be read in the ordinary way. */
  #attributes(from: Node, list: unknown): Node | undefined {
    if (!Array.isArray(list)) return undefined;
    let node: Node | undefined = from;
    for (const item of list as readonly unknown[]) {
      if (!isObject(item)) return undefined;
      const { key, value } = item;
      if (typeof key !== 'string' || key === END || key === UNNAMED) return undefined;
      node = node.name === key ? node : this.#named(node, key, undefined);
      if (node === undefined) return undefined;
      const read = plainValue(value);
      if (read === undefined) {
        if (node.use !== 'same') return undefined;
        node = this.#list(node, value);
        if (node === undefined) return undefined;
        continue;
      }
      switch (node.use) {
        case 'same':
          node = this.#branch(node, read);
          break;
        case 'own':
          if (typeof read === 'string' && read.length > MAX_TEXT) return undefined;
          this.span.values.push(read);
          node = this.#step(node);
          break;
        case 'unused':
          node = this.#step(node);
          break;
        default:
          return undefined;
      }
      if (node === undefined) return undefined;
    }
    const end = this.#named(node, END, 'unused');
    return end && this.#step(end);
  }

  /** Down along a list of texts. */
  #list(from: Node, value: unknown): Node | undefined {
    const array = isObject(value) ? value['arrayValue'] : undefined;
    const items = isObject(array) ? array['values'] : undefined;
    if (!Array.isArray(items)) return undefined;
    let node = this.#branch(from, LIST);
    for (const item of items as readonly unknown[]) {
      const text = isObject(item) ? item['stringValue'] : undefined;
      if (node === undefined || typeof text !== 'string') return undefined;
      node = this.#branch(node, text);
    }
    return node && this.#branch(node, LIST_END);
  }

  /** The node of this name at this place. */
  #named(from: Node, name: string, use: AttributeUse | undefined): Node | undefined {
    let node = from;
    if (node.name === UNNAMED) {
      node.name = name;
      node.use = use ?? this.#use(name);
    }
    while (node.name !== name) {
      if (node.other === undefined) {
        const made = this.#node(name, use ?? this.#use(name));
        if (made === undefined) return undefined;
        node.other = made;
      }
      node = node.other;
    }
    return node;
  }

  #step(node: Node): Node | undefined {
    return (node.next ??= this.#node(UNNAMED, 'unused'));
  }

  #branch(node: Node, value: unknown): Node | undefined {
    if (node.lastNode !== undefined && node.lastValue === value) return node.lastNode;
    node.byValue ??= new Map<unknown, Node>();
    let next = node.byValue.get(value);
    if (next === undefined) {
      next = this.#node(UNNAMED, 'unused');
      if (next === undefined) return undefined;
      node.byValue.set(value, next);
    }
    node.lastValue = value;
    node.lastNode = next;
    return next;
  }

  #node(name: string, use: AttributeUse): Node | undefined {
    if (this.#nodes >= MAX_NODES) return undefined;
    this.#nodes += 1;
    return new Node(name, use);
  }

  #use(name: string): AttributeUse {
    let use = this.#uses.get(name);
    if (use === undefined) {
      use = ATTRIBUTE_ALIASES.has(name) ? 'converted' : this.#useOf(name);
      if (this.#uses.size < MAX_NODES) this.#uses.set(name, use);
    }
    return use;
  }

  /** Names of the own values in their order; read once per likeness. */
  #namesOf(raw: JsonObject): readonly string[] {
    const names: string[] = [];
    const take = (list: unknown): void => {
      for (const item of Array.isArray(list) ? (list as readonly unknown[]) : []) {
        if (isObject(item) && typeof item['key'] === 'string' && this.#use(item['key']) === 'own') {
          names.push(item['key']);
        }
      }
    };
    take(raw['attributes']);
    for (const event of Array.isArray(raw['events']) ? (raw['events'] as readonly unknown[]) : []) {
      if (isObject(event)) take(event['attributes']);
    }
    return names;
  }
}

export type AlikeRoot = Node;

const NONE: readonly never[] = Object.freeze([]);
/** Values that no export can give. */
const LIST = Symbol('list');
const LIST_END = Symbol('end of list');
