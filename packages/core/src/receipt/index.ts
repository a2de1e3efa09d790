export * from './canonical.js';
export * from './envelope.js';
export * from './parse.js';
export type { PlainReceipt } from './plain.js';
export * from './statement.js';
