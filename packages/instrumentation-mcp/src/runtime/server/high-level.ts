import { isForeign, read } from '../../patch/foreign.js';
import type { Invocation } from '../../patch/table.js';
import type { RuntimeCore } from '../core.js';

/** `McpServer.connect`: its tools and their annotations stand there, the protocol is the low-level server inside. */
export function onMcpServerConnect(core: RuntimeCore, { self, proceed }: Invocation): unknown {
  core.guard('McpServer.connect', () => {
    const inner = read(self, 'server');
    if (isForeign(inner)) core.highLevelServers.set(inner, self);
  });
  return proceed();
}
