/** Span sets of the open cases, with ids of their own: the cases use the same ids over and over. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface Case {
  readonly id: string;
  readonly title: string;
  readonly otlp: object;
}

const IDS = new Set(['waybill.run.id', 'waybill.call.id', 'waybill.operation.id', 'waybill.boundary.id']);

/** @param mark a second set under another mark shares no id with the first */
export function spanCases(mark = ''): readonly Case[] {
  const file = fileURLToPath(new URL('../../../cases/spans-open.json', import.meta.url));
  return (JSON.parse(readFileSync(file, 'utf8')) as readonly Case[]).map((one) => apart(one, mark));
}

function apart({ id, title, otlp }: Case, mark: string): Case {
  const text = JSON.stringify(otlp, (key, value: unknown) => {
    if (key === 'traceId')
      return createHash('sha256')
        .update(`${mark}${id} ${String(value)}`)
        .digest('hex')
        .slice(0, 32);
    const attribute = value as {
      readonly key?: unknown;
      readonly value?: { readonly stringValue?: string };
    } | null;
    if (
      typeof attribute?.key === 'string' &&
      IDS.has(attribute.key) &&
      attribute.value?.stringValue !== undefined
    ) {
      return { key: attribute.key, value: { stringValue: `${mark}${id}/${attribute.value.stringValue}` } };
    }
    return value;
  });
  return { id, title, otlp: JSON.parse(text) as object };
}
