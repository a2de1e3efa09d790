import { defineConfig } from 'vitest/config';

// Real programs with their own lockfiles, installed on the first run: `npm run test:programs`.
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 900_000,
    fileParallelism: false,
    retry: process.env['CI'] === 'true' ? 1 : 0,
    reporters: ['verbose'],
  },
});
