export * from './rule.js';
export type * from './model.js';
export * from './report.js';
