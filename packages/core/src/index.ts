export * from './semconv/index.js';
