export * from './decide.js';
export * from './effects.js';
export * from './table.js';
export * from './types.js';
