import { defineConfig } from 'vitest/config';

// SDK versions and runtimes, each in a folder of its own that npm fills on the first run: `npm run test:matrix`.
// `npm run test:matrix -- --update` writes what was seen into docs/versions.md.
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 300_000,
    // Each runs two programs at once, which wait most of their time.
    maxConcurrency: 3,
    fileParallelism: false,
    retry: process.env['CI'] === 'true' ? 1 : 0,
    reporters: ['verbose'],
    env: process.argv.some((argument) => argument === '--update' || argument === '-u')
      ? { MATRIX_UPDATE: 'true' }
      : {},
  },
});
