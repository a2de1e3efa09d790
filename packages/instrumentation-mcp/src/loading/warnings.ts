import { loadingState } from './state.js';

/** An MCP SDK is used, or may be, and the plugin does not see it. */
export const NOT_PATCHED = 'WAYBILL_NOT_PATCHED';
/** A call was made while no OpenTelemetry SDK was registered: spans go nowhere. */
export const NO_SDK = 'WAYBILL_NO_SDK';
/** The module named by WAYBILL_CONFIG could not be used. */
export const CONFIG = 'WAYBILL_CONFIG';

/** How to make the SDK visible; the end of every WAYBILL_NOT_PATCHED message. */
export const REMEDY: string =
  'Start the program with `node --import @waybill/instrumentation-mcp/register`, load the instrumentation before the ' +
  'SDK, and keep @modelcontextprotocol/* out of bundles; a bundled SDK is handed over with instrumentModules().';

/** One warning per code and process, by `process.emitWarning` and so on stderr: stdout belongs to the program. */
export function warnOnce(code: string, message: string): void {
  if (!claim(code)) return;
  process.emitWarning(message, { type: 'WaybillWarning', code });
}

/**
 * The same from an `exit` listener. `process.emitWarning` defers to the next tick, which never comes there; Node's own
 * listener, which honours `--no-warnings`, prints at once.
 */
export function warnAtExit(code: string, message: string): void {
  if (!claim(code)) return;
  const warning: Error & { code?: string } = new Error(message);
  warning.name = 'WaybillWarning';
  warning.code = code;
  process.emit('warning', warning);
}

function claim(code: string): boolean {
  const { warned } = loadingState();
  if (warned.has(code)) return false;
  warned.add(code);
  return true;
}
