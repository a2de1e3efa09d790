export * from './attributes.js';
export * from './conventions.js';
export * from './flags.js';
export * from './meta.js';
export * from './outcomes.js';
export * from './rules.js';
export * from './stages.js';
export * from './verdicts.js';
