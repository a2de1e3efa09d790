import { defineConfig } from 'vitest/config';

// `npm run test:wire`: transcripts, the measured cells of the fault matrix and fuzzing, against the real SDK clients.
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
});
