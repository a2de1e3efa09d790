import type { ReasonOf } from '../semconv/index.js';
import type { TransportFailure, WireTransport } from './types.js';

/** No connection came about: the address refused, was unreachable or did not answer in time. */
const CONNECT_CODES: ReadonlySet<string> = new Set(['ECONNREFUSED', 'UND_ERR_CONNECT_TIMEOUT']);
/** The same codes also end an established connection; only `connect` as system call proves that nothing was sent. */
const CONNECT_IF_CONNECTING: ReadonlySet<string> = new Set([
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'EHOSTDOWN',
  'EADDRNOTAVAIL',
  'EACCES',
  'EPERM',
]);
const DNS_CODES: ReadonlySet<string> = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_NODATA',
  'ENODATA',
]);
/** The peer's certificate was refused, or its first bytes were no TLS: before any byte of the request was sent. */
const TLS_CODES =
  /^(?:CERT_|ERR_TLS_(?:CERT|HANDSHAKE)|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH$|INVALID_CA$|PATH_LENGTH_EXCEEDED$|ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNSUPPORTED_PROTOCOL|NO_PROTOCOLS_AVAILABLE|SSLV3_ALERT_HANDSHAKE_FAILURE|TLSV1_ALERT_PROTOCOL_VERSION|TLSV1_UNRECOGNIZED_NAME)$)/;
const RESET_CODES: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'UND_ERR_SOCKET',
  'EPROTO',
]);

/**
 * Reason of TRANSPORT_ERROR. `connect`, `dns` and `tls` claim that nothing reached the server, so a cause that leaves a
 * doubt never gives one of them. Undefined where the cause tells nothing.
 */
export function transportReason(
  failure: TransportFailure,
  transport: WireTransport,
): ReasonOf<'TRANSPORT_ERROR'> | undefined {
  const { code = '', syscall } = failure;
  if (transport === 'stdio' || transport === 'memory') return 'closed';
  if (CONNECT_CODES.has(code) || (CONNECT_IF_CONNECTING.has(code) && syscall === 'connect')) return 'connect';
  if (DNS_CODES.has(code) || syscall === 'getaddrinfo') return 'dns';
  if (TLS_CODES.test(code)) return 'tls';
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return 'headers_timeout';
  if (code === 'UND_ERR_CLOSED' || code === 'UND_ERR_DESTROYED') return 'closed';
  if (RESET_CODES.has(code) || code.startsWith('ERR_SSL_') || CONNECT_IF_CONNECTING.has(code)) return 'reset';
  return undefined;
}

const textOf = (value: object, key: string): string | undefined => {
  const found: unknown = Reflect.get(value, key);
  return typeof found === 'string' ? found : undefined;
};

/**
 * Reads what a rejected fetch or a failed write tells: `fetch failed` hides its cause in `cause`, and a host with several
 * addresses in the `errors` of an AggregateError. Takes any value, also one with throwing accessors.
 */
export function transportCause(error: unknown): TransportFailure {
  let failure: TransportFailure = { code: undefined, name: undefined };
  try {
    let current: unknown = error;
    for (let depth = 0; depth < 8 && typeof current === 'object' && current !== null; depth++) {
      const code = textOf(current, 'code') ?? failure.code;
      const syscall = textOf(current, 'syscall') ?? failure.syscall;
      failure = { code, name: failure.name ?? textOf(current, 'name'), syscall };
      if (code !== undefined && syscall !== undefined) break;
      const errors: unknown = Reflect.get(current, 'errors');
      const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
      current = first ?? Reflect.get(current, 'cause');
    }
  } catch {
    // A hostile error object tells nothing more.
  }
  return failure;
}
