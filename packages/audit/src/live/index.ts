/** `waybill serve`: the receiver, and the auditor behind it. */
export { ReceiverError, type ReceiverErrorCode } from './errors.js';
export { startReceiver } from './receiver.js';
export { startBackend, type AuditBackend, type BackendOptions } from './backend.js';
export { LiveAuditor, type AuditorOptions, type AuditorStats } from './auditor/auditor.js';
export type { EventFinding, EventVerdict, StateEvent } from './auditor/events.js';
export type { EmitterStats } from './auditor/emitter.js';
export type { Page, Receiver, ReceiverEvent, ReceiverOptions, ReceiverStats } from './types.js';
