import { defineConfig } from 'vitest/config';

// Slow tests that start other versions of Node, fetched by npx: `npx vitest run --config test/heavy/vitest.config.ts`.
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    fileParallelism: false,
    retry: process.env['CI'] === 'true' ? 1 : 0,
  },
});
