/** The receiver of `waybill serve`. */
export { ReceiverError, type ReceiverErrorCode } from './errors.js';
export { startReceiver } from './receiver.js';
export type { Receiver, ReceiverEvent, ReceiverOptions, ReceiverStats } from './types.js';
