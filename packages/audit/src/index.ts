export * from './rule.js';
export type * from './model.js';
