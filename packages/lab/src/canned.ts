import type { CallIds } from './transcript.js';

/** A JSON-RPC message as far as a peer must know it. */
export interface IncomingMessage {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** A `tools/call` that arrived. */
export interface ToolCall extends CallIds {
  /** Number of the call at this peer, from 0. */
  readonly index: number;
  readonly tool: string;
  readonly arguments: unknown;
  readonly meta: Readonly<Record<string, unknown>>;
}

export interface PeerIdentity {
  /** Answered to `tools/list`. Default: one tool `t` without parameters. */
  readonly tools?: readonly object[];
  /** Versions that `server/discover` offers. Default: 2026-07-28. */
  readonly supportedVersions?: readonly string[];
  /** Answered to `initialize`. Default: the version that the client asks for. */
  readonly protocolVersion?: string;
}

const SERVER_INFO = { name: 'fault-lab', version: '0' };
const NEWEST = '2025-11-25';
const TOOL = { name: 't', inputSchema: { type: 'object' } };

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function parseMessage(text: string): IncomingMessage | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function toolCall(message: IncomingMessage, index: number): ToolCall | undefined {
  const { id, method, params = {} } = message;
  if (method !== 'tools/call' || id === undefined) return undefined;
  const meta = isRecord(params['_meta']) ? params['_meta'] : {};
  const token = meta['progressToken'];
  const progressToken =
    typeof token === 'string' || typeof token === 'number' ? { progressToken: token } : {};
  return { id, index, tool: String(params['name']), arguments: params['arguments'], meta, ...progressToken };
}

/**
 * The answer to any request but `tools/call`, which lets real SDK clients of each era come as far as their first call:
 * `initialize` echoes the client's version, `server/discover` and `tools/list` carry what 2026-07-28 demands and what
 * earlier versions ignore. Undefined for a notification or a response.
 */
export function cannedAnswer(message: IncomingMessage, identity: PeerIdentity = {}): object | undefined {
  const { id, method, params = {} } = message;
  if (id === undefined || method === undefined) return undefined;
  const respond = (result: object): object => ({ jsonrpc: '2.0', id, result });
  const cacheable = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  switch (method) {
    case 'initialize':
      return respond({
        protocolVersion: identity.protocolVersion ?? params['protocolVersion'] ?? NEWEST,
        capabilities: { tools: {} },
        serverInfo: SERVER_INFO,
      });
    case 'server/discover':
      return respond({
        ...cacheable,
        supportedVersions: identity.supportedVersions ?? ['2026-07-28'],
        capabilities: { tools: {} },
        serverInfo: SERVER_INFO,
      });
    case 'tools/list':
      return respond({ ...cacheable, tools: identity.tools ?? [TOOL] });
    case 'ping':
      return respond({});
    default:
      return { jsonrpc: '2.0', id, error: { code: -32601, message: `the lab does not answer ${method}` } };
  }
}
