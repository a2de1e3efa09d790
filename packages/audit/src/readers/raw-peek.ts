/** A span that is still protobuf, as a sink sees it before it is decoded. */
import type { SpanPeek } from '../model.js';
import type { RawSpan } from '../protobuf/raw-span.js';
import { isObject } from './exact-json.js';
import { text } from './otlp.js';

const ATTR_SERVICE_NAME = 'service.name';

/** What a sink may know of a span that is still bytes. */
export class RawPeek implements SpanPeek {
  private readonly span: RawSpan;

  constructor(span: RawSpan) {
    this.span = span;
  }

  get name(): string {
    return this.span.name();
  }

  get scopeName(): string {
    const { scope } = this.span;
    return isObject(scope) ? text(scope['name']) : '';
  }

  get serviceName(): string {
    const { resource } = this.span;
    const attributes = isObject(resource) ? resource['attributes'] : undefined;
    if (!Array.isArray(attributes)) return '';
    for (const item of attributes as readonly unknown[]) {
      if (!isObject(item) || item['key'] !== ATTR_SERVICE_NAME) continue;
      return isObject(item['value']) ? text(item['value']['stringValue']) : '';
    }
    return '';
  }

  hasKey(test: (key: string) => boolean): boolean {
    return this.span.hasKey(test);
  }
}
