import type { Outcome } from '@waybill/core';
import type { Settled } from './application.js';

/** What an SDK told its caller, in two words, and in full. */
export interface Told {
  readonly name: string;
  readonly kind: 'result' | 'hollow' | 'timeout' | 'abort' | 'error';
  /** Class, code and message; what differs from play to play is masked. */
  readonly full: string;
}

export interface WireFacts {
  readonly outcome: Outcome;
  /** The wire carried a result that has no `content`. */
  readonly contentMissing: boolean;
}

export function toldOf(settled: Settled | undefined, wire: WireFacts): Told {
  if (settled?.error !== undefined) return toldError(settled.error, wire);
  const { result } = settled ?? {};
  if (result === undefined) return { name: 'nothing', kind: 'error', full: 'the promise never settled' };
  if (wire.contentMissing)
    return {
      name: 'hollow result',
      kind: 'hollow',
      full: 'resolves, with a `content: []` of its own making',
    };
  if (result.isError === true)
    return { name: 'isError result', kind: 'result', full: 'resolves with `isError: true`' };
  return { name: 'result', kind: 'result', full: 'resolves with the result as it came' };
}

type ToldError = NonNullable<Settled['error']>;
const NAMED_CODE = /^[A-Z][A-Z_]+$/;

function toldError(error: ToldError, wire: WireFacts): Told {
  const full = `\`${error.class}\`${error.code === undefined ? '' : ` ${error.code}`} “${masked(error.message)}”`;
  const kind = 'error';
  const code = error.code ?? '';
  if (code === -32001 || code === 'REQUEST_TIMEOUT')
    return /timed out/.test(error.message)
      ? { name: 'timeout', kind: 'timeout', full }
      : { name: 'abort', kind: 'abort', full };
  const status = statusOf(error);
  if (status !== undefined) return { name: `HTTP ${status}`, kind, full: full.replace(String(status), 'N') };
  if (code === -1 || code === 'CLIENT_HTTP_UNEXPECTED_CONTENT') return { name: 'content type', kind, full };
  if (error.class === 'McpError' || error.class === 'ProtocolError')
    return wire.outcome === 'JSONRPC_ERROR' || wire.outcome === 'HTTP_ERROR'
      ? { name: `RPC error ${code}`, kind, full: full.replaceAll(String(code), 'N') }
      : { name: code === -32000 ? 'closed' : `local error ${code}`, kind, full };
  if (typeof code === 'string' && NAMED_CODE.test(code)) return { name: code, kind, full };
  return { name: error.class, kind, full };
}

/** Status of an HTTP answer, where the error is about one. */
function statusOf(error: ToldError & { readonly data?: { readonly status?: number } }): number | undefined {
  if (error.class === 'StreamableHTTPError' && typeof error.code === 'number' && error.code >= 100)
    return error.code;
  return error.class === 'SdkHttpError' ? error.data?.status : undefined;
}

/** Very long messages are observed as their digest. */
function masked(message: unknown): string {
  if (typeof message !== 'string') return '…';
  const flat = message
    .replaceAll(/\s+/g, ' ')
    .replace(/(Error POSTing to endpoint:?).*/, '$1 BODY')
    .replace(/(Error POSTing to endpoint \()HTTP \d+(\):).*/, '$1HTTP N$2 BODY')
    .replace(/^(MCP error -\d+: )(?!Request timed out|Structured|Tool|Connection).*/, '$1MESSAGE')
    .replace(/Tool \S+ has/, 'Tool NAME has')
    .replace(/(Unexpected content type:).*/, '$1 TYPE')
    .replace(/^(Unsupported result type) '[^']*'/, "$1 'TYPE'")
    .replace(/(?<=^Unexpected token |^Expected property).*/, ' …')
    .replace(/^\[ \{.*/, '[ … ]')
    .replace(/(Invalid result for tools\/call:).*/, '$1 […]')
    .replace(/127\.0\.0\.1:\d+/, 'HOST');
  return flat.length > 90 ? `${flat.slice(0, 90)}…` : flat;
}
