export type * from './types.js';
export { openSharedChannel } from './channel.js';
export {
  classifyResponse,
  readMessage,
  type MessageReading,
  type ResponseContext,
  type ResponseReading,
} from './classify.js';
export { JsonScanner } from './json-scanner.js';
export { mediaType } from './media-type.js';
export { readCall } from './reading.js';
export { parseRetryAfter } from './retry-after.js';
export {
  SseDecoder,
  type SseDecoderOptions,
  type SseEventHead,
  type SseRest,
  type SseSink,
} from './sse-decoder.js';
export { transportCause, transportReason } from './transport-failure.js';
