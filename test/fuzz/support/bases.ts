/** The transcripts of `test/cases` as templates: bytes with `$ID`, `$STR` and `$TOK` where a call's ids go. */
import { readFileSync } from 'node:fs';
import type { HttpReply, LegacyReply, StdioReply } from '@waybill/lab';

export interface Template {
  readonly name: string;
  readonly transport: 'http' | 'legacy_sse' | 'stdio';
  readonly status: number;
  readonly contentType: string | null;
  readonly bytes: Uint8Array;
}

interface Case {
  readonly id?: string;
  readonly probe?: string;
  readonly transport?: 'streamable_http' | 'stdio' | 'legacy_sse';
  readonly reply: HttpReply & StdioReply & LegacyReply;
}

/** Longer transcripts show nothing that their beginning does not, and cost a hundred times as much. */
const MAX_BYTES = 4096;

export const TEMPLATES: readonly Template[] = ['wire-open.json', 'probes.json'].flatMap((file) => {
  const cases = JSON.parse(
    readFileSync(new URL(`../../cases/${file}`, import.meta.url), 'utf8'),
  ) as readonly Case[];
  return cases.map(templateOf);
});

function templateOf({ id, probe, transport = 'streamable_http', reply }: Case): Template {
  const name = id ?? probe ?? '';
  switch (transport) {
    case 'streamable_http':
      return {
        name,
        transport: 'http',
        status: reply.status ?? 200,
        contentType: reply.headers?.['content-type'] ?? null,
        bytes: bytesOf(reply.chunks),
      };
    case 'legacy_sse':
      return {
        name,
        transport: 'legacy_sse',
        status: reply.post.status ?? 202,
        contentType: 'text/event-stream',
        bytes: bytesOf(reply.stream.chunks),
      };
    case 'stdio':
      return {
        name,
        transport: 'stdio',
        status: 0,
        contentType: null,
        bytes: bytesOf(reply.chunks ?? reply.lines?.map(([delay, line]) => [delay, `${line}\n`] as const)),
      };
    default:
      return transport satisfies never;
  }
}

function bytesOf(chunks: HttpReply['chunks']): Uint8Array {
  const parts = (chunks ?? []).map(([, chunk]) => Buffer.from(chunk));
  return Buffer.concat(parts).subarray(0, MAX_BYTES);
}

/** Puts ids in the place of their marks, in bytes that need not be text. */
export function fillBytes(
  bytes: Uint8Array,
  id: string | number,
  progressToken: string | number = id,
): Uint8Array {
  const template = Buffer.from(bytes).toString('latin1');
  if (!template.includes('$')) return bytes;
  const of = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('latin1');
  return Buffer.from(
    template
      .replaceAll('$STR', of(String(id)))
      .replaceAll('$ID', of(id))
      .replaceAll('$TOK', of(progressToken)),
    'latin1',
  );
}
