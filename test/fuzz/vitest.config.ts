import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// `npm run test:fuzz`: mutated replies for the classifier and for real clients, and the corpus of inputs that failed.
export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: ['test/fuzz/**/*.test.ts'],
    retry: process.env['CI'] === 'true' ? 1 : 0,
    fileParallelism: false,
    disableConsoleIntercept: true,
  },
});
