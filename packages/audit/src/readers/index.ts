/** Readers: whatever was exported becomes spans, stage logs and damaged places of one model. */
export { DEFAULT_LIMITS, type ReadLimits } from './limits.js';
export { readInput, readInputs, type ReadOptions } from './read.js';
export {
  foldersWithoutTraces,
  openInputs,
  type BytesSource,
  type FileSource,
  type InputSource,
  type OpenedInputs,
  type StandardInputSource,
  type UrlSource,
} from './source.js';
export {
  HEADERS_VARIABLE,
  headersOfEnvironment,
  type Backend,
  type RemoteOptions,
  type RemoteProgress,
  type RemoteUrl,
} from './remote/types.js';
