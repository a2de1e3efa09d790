// The suite's own servers listen on all interfaces and read address() at once, so that a host given to listen() would
// break them: the address is set where Node binds the socket.
import { Server } from 'node:net';

// A property name, since this is no method that Node documents.
const BIND = '_listen2';
const { [BIND]: bind } = Server.prototype;

Server.prototype[BIND] = function bindLoopback(address, port, type, ...rest) {
  const everywhere = [null, undefined, '::', '0.0.0.0'].includes(address);
  const tcp = everywhere && typeof port === 'number' && port >= 0;
  return Reflect.apply(bind, this, tcp ? ['127.0.0.1', port, 4, ...rest] : [address, port, type, ...rest]);
};
