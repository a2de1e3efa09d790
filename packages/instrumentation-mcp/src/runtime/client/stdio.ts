import { openSharedChannel } from '@waybill/core';
import { isForeign, isFunction, read } from '../../patch/foreign.js';
import type { Invocation } from '../../patch/table.js';
import type { Connection } from '../connection.js';
import type { RuntimeCore } from '../core.js';

/** Opens the reading of the pipe of a stdio client. The bytes come through its `ReadBuffer`. */
export function watchPipe(core: RuntimeCore, connection: Connection, transport: object): void {
  const buffer = read(transport, '_readBuffer');
  if (connection.kind !== 'stdio' || !isForeign(buffer) || read(transport, '_serverParams') === undefined)
    return;
  connection.channel = openSharedChannel('line');
  core.readBuffers.set(buffer, connection);
}

/** `ReadBuffer.append(chunk)`: bytes of replies, also of lines that never end. */
export function onAppend(core: RuntimeCore, { self, args, proceed }: Invocation): unknown {
  core.guard('stdio.append', () => {
    const chunk = args[0];
    if (chunk instanceof Uint8Array) core.readBuffers.get(self)?.channel?.chunk(chunk);
  });
  return proceed();
}

/** `StdioClientTransport.start`: the child is spawned before it returns; its end is told by its stdout. */
export function onStdioStart(core: RuntimeCore, { self, proceed }: Invocation): unknown {
  const result = proceed();
  core.guard('stdio.start', () => {
    const buffer = read(self, '_readBuffer');
    const channel = isForeign(buffer) ? core.readBuffers.get(buffer)?.channel : undefined;
    const stdout = read(read(self, '_process'), 'stdout');
    const once = read(stdout, 'once');
    if (channel === undefined || !isFunction(once)) return;
    once.call(stdout, 'end', () => {
      core.guard('stdio.end', () => channel.end('eof'));
    });
  });
  return result;
}
