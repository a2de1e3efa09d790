import { defineConfig } from 'vitest/config';

// The official conformance suite, with the plugin and without: `npm run test:conformance`. Needs Node 22 or later for
// the suite itself, which npx fetches.
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.test.ts'],
    testTimeout: 240_000,
    hookTimeout: 900_000,
    fileParallelism: false,
    reporters: ['verbose'],
  },
});
