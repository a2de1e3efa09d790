/** Why the receiver could not start, with the remedy. */
export type ReceiverErrorCode =
  | 'port_in_use'
  | 'port_forbidden'
  | 'address_unavailable'
  | 'directory_unwritable'
  | 'listen_failed'
  | 'emit_loop'
  | 'emit_invalid';

/** The receiver could not start. `remedy` is a sentence for the person at the terminal. */
export class ReceiverError extends Error {
  override readonly name = 'ReceiverError';
  readonly code: ReceiverErrorCode;
  readonly remedy: string;

  constructor(code: ReceiverErrorCode, message: string, remedy: string) {
    super(message);
    this.code = code;
    this.remedy = remedy;
  }
}

/** What a failed `listen` means for the person who asked for it. */
export function listenError(error: NodeJS.ErrnoException, host: string, port: number): ReceiverError {
  switch (error.code) {
    case 'EADDRINUSE':
      return new ReceiverError(
        'port_in_use',
        `port ${port} on ${host} is taken by another program`,
        `stop that program, or choose another port with --port, for example --port ${port + 1}`,
      );
    case 'EACCES':
      return new ReceiverError(
        'port_forbidden',
        `port ${port} on ${host} is not allowed for this user`,
        'choose a port above 1023 with --port',
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new ReceiverError(
        'address_unavailable',
        `${host} is no address of this machine`,
        'choose an address of this machine with --host; 127.0.0.1 always works',
      );
    default:
      return new ReceiverError(
        'listen_failed',
        `cannot listen on ${host}:${port}: ${error.message}`,
        'try another port with --port',
      );
  }
}
