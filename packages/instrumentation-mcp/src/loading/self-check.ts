import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { isMainThread } from 'node:worker_threads';
import { findApplication } from './application.js';
import { findSdkCopies } from './dependency-tree.js';
import { loadingState } from './state.js';
import { NOT_PATCHED, REMEDY, warnAtExit, warnOnce } from './warnings.js';

const REQUEST_CREATED = 'undici:request:create';

/**
 * Watches for the two signs that an MCP SDK is used unseen: a request with MCP headers before any patched method was
 * called (a transport of a patched copy is started before it sends), and an SDK in reach of the application while nothing was patched until exit. At start nothing
 * can be decided, since nothing is loaded yet.
 */
export function installSelfCheck(): void {
  const state = loadingState();
  if (state.selfCheckInstalled) return;
  state.selfCheckInstalled = true;
  subscribe(REQUEST_CREATED, onRequest);
  // A worker shares the arguments of its process, not its purpose.
  if (!isMainThread) return;
  process.once('exit', onExit);
  // What a worker patched is not known here, so a program with workers cannot be judged.
  process.once('worker', () => process.removeListener('exit', onExit));
}

function onRequest(message: unknown): void {
  const state = loadingState();
  if (state.warned.has(NOT_PATCHED) || state.used) {
    // Nothing left to find out, and an application may make many requests.
    unsubscribe(REQUEST_CREATED, onRequest);
    return;
  }
  if (!state.isEnabled() || !hasMcpHeaders(message)) return;
  warnOnce(
    NOT_PATCHED,
    `A request with MCP headers was sent by code that is not instrumented: no patched SDK is in use. ${REMEDY} ` +
      'A client that is not built on the official SDK is instrumented with instrumentTransport().',
  );
}

/** The headers stand as one string or as a flat list of names and values, by the version of undici. */
function hasMcpHeaders(message: unknown): boolean {
  if (typeof message !== 'object' || message === null) return false;
  const request: unknown = (message as { request?: unknown }).request;
  if (typeof request !== 'object' || request === null) return false;
  const headers: unknown = (request as { headers?: unknown }).headers;
  const text = Array.isArray(headers) ? headers.join('\n') : typeof headers === 'string' ? headers : '';
  return (
    /(?:^|\n)mcp-protocol-version\b/i.test(text) || /application\/json,\s*text\/event-stream/i.test(text)
  );
}

function onExit(): void {
  try {
    lookBack();
  } catch {
    // A working directory that is gone: an error here would change how the program ends.
  }
}

function lookBack(): void {
  const state = loadingState();
  if (!state.isEnabled() || state.patched.length > 0 || state.warned.has(NOT_PATCHED)) return;
  const copies = findSdkCopies(findApplication());
  if (copies.length === 0) return;
  const found = copies
    .map(({ sdk, version }) => `${sdk.name} ${version ?? '(no version)'} (supported: ${sdk.supported})`)
    .join(', ');
  warnAtExit(
    NOT_PATCHED,
    `The application depends on ${found}, and nothing of it was patched in this process. ` +
      `If it made MCP calls, none was recorded. ${REMEDY}`,
  );
}
