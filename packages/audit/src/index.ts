export * from './audit.js';
export * from './rule.js';
export type * from './model.js';
export * from './report.js';
export * from './readers/index.js';
export * from './rules/index.js';
export * from './reports/index.js';
export * from './live/index.js';
export type { RecordSource } from './evidence/lines.js';
