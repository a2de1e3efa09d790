/** For the packages of Waybill only: the shared scope behind the public functions. No semver promise. */
export { EMPTY_SCOPE, apiState } from './state.js';
export type { ApiState, OperationScope, Scope } from './state.js';
