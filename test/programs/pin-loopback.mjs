// Preloaded into a server that listens on all interfaces and never prints the port it got: binds every listener to
// 127.0.0.1 on a free port and writes that port to the file the test names.
import { Server } from 'node:net';
import { writeFileSync } from 'node:fs';

const METHOD = 'listen';
const { [METHOD]: listen } = Server.prototype;
Server.prototype[METHOD] = function pinned(...args) {
  this.once('listening', () => writeFileSync(process.env.TEST_PORT_FILE, String(this.address().port)));
  const callback = args.findLast((arg) => typeof arg === 'function');
  return Reflect.apply(listen, this, [{ host: '127.0.0.1', port: 0 }, callback]);
};
