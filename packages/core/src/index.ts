export * from './receipt/index.js';
export * from './semconv/index.js';
export * from './verdict/index.js';
export * from './wire/index.js';
