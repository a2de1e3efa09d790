/** Answers of OTLP/HTTP: in the encoding of the request (OTLP specification, "OTLP/HTTP Response"). */
import type { ServerResponse } from 'node:http';
import type { Encoding } from './convert.js';
import type { Signal } from './signals.js';
import type { Page } from './types.js';

export interface PartialSuccess {
  /** 0 for a warning about a request that was accepted whole. */
  readonly rejected: number;
  readonly message: string;
}

/** 200; senders must not send again what it speaks of. */
export function respondSuccess(
  response: ServerResponse,
  encoding: Encoding,
  signal: Signal,
  partial: PartialSuccess | undefined,
): void {
  if (encoding === 'protobuf') {
    send(response, 200, 'application/x-protobuf', protobufOf(partial));
    return;
  }
  const body =
    partial === undefined
      ? {}
      : {
          partialSuccess: {
            ...(partial.rejected === 0 ? {} : { [signal.rejected]: String(partial.rejected) }),
            errorMessage: partial.message,
          },
        };
  send(response, 200, 'application/json', Buffer.from(JSON.stringify(body)));
}

/** 429 (more than is taken at one time) or 503: the sender keeps its data and comes again after that many seconds. */
export function respondLater(
  response: ServerResponse,
  status: 429 | 503,
  encoding: Encoding,
  message: string,
  retryAfterSeconds: number,
): void {
  response.setHeader('retry-after', String(retryAfterSeconds));
  respondError(response, status, encoding, message);
}

/** RESOURCE_EXHAUSTED and UNAVAILABLE of google.rpc.Code. */
const RPC_CODES: Readonly<Record<number, number>> = { 429: 8, 503: 14 };
const INVALID_ARGUMENT = 3;

/** An error with the google.rpc.Status body that OTLP asks for. */
export function respondError(
  response: ServerResponse,
  status: number,
  encoding: Encoding,
  message: string,
): void {
  const code = RPC_CODES[status] ?? INVALID_ARGUMENT;
  if (encoding === 'protobuf') {
    send(
      response,
      status,
      'application/x-protobuf',
      Buffer.concat([varintField(1, code), textField(2, message)]),
    );
    return;
  }
  send(response, status, 'application/json', Buffer.from(JSON.stringify({ code, message })));
}

export function respondPage(response: ServerResponse, page: Page): void {
  for (const [name, value] of Object.entries(page.headers ?? {})) response.setHeader(name, value);
  send(response, page.status, page.contentType, Buffer.from(page.body));
}

export function respondJson(response: ServerResponse, status: number, value: object): void {
  send(response, status, 'application/json', Buffer.from(`${JSON.stringify(value)}\n`));
}

function send(response: ServerResponse, status: number, contentType: string, body: Buffer): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': body.length,
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
}

/** `Export…ServiceResponse{partial_success = 1 {rejected = 1, error_message = 2}}`, the same for all signals. */
function protobufOf(partial: PartialSuccess | undefined): Buffer {
  if (partial === undefined) return Buffer.alloc(0);
  const parts = [textField(2, partial.message)];
  if (partial.rejected > 0) parts.unshift(varintField(1, partial.rejected));
  return bytesField(1, Buffer.concat(parts));
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

function varintField(number: number, value: number): Buffer {
  return Buffer.concat([varint(number << 3), varint(value)]);
}

function bytesField(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

function textField(number: number, text: string): Buffer {
  return bytesField(number, Buffer.from(text));
}
