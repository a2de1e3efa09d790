import { fileURLToPath } from 'node:url';
import type { StdioReply } from './transcript.js';

/** What a stdio client transport of either SDK takes to start a server. */
export interface StdioServerCommand {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
}

/**
 * The command that starts a stdio server which is correct up to the first `tools/call` and then plays the transcript.
 * It exits with code 0 when its stdin ends, or on SIGTERM.
 *
 * @example new StdioClientTransport(stdioPeer({ lines: [], after: 'exit', exit_code: 3 }))
 */
export function stdioPeer(reply: StdioReply): StdioServerCommand {
  return {
    command: process.execPath,
    args: [fileURLToPath(new URL('./stdio-peer-main.js', import.meta.url))],
    env: { WAYBILL_LAB_REPLY: JSON.stringify(reply) },
  };
}
