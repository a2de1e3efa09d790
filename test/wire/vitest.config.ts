import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// `npm run test:wire`: transcripts of the field and the measured cells of the fault matrix, against the real SDK clients.
export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: ['test/wire/**/*.test.ts'],
    retry: process.env['CI'] === 'true' ? 1 : 0,
    testTimeout: 120_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
});
