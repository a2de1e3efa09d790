// The suite's own servers listen on all interfaces and read address() at once, so that a host given to listen() would
// break them: the address is set where Node binds the socket.
import { Server } from 'node:net';

const bind = Server.prototype._listen2;
Server.prototype._listen2 = function bindLoopback(address, port, type, ...rest) {
  const everywhere = address === null || address === undefined || address === '::' || address === '0.0.0.0';
  const tcp = everywhere && typeof port === 'number' && port >= 0;
  return tcp ? bind.call(this, '127.0.0.1', port, 4, ...rest) : bind.call(this, address, port, type, ...rest);
};
