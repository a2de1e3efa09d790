import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// `npm run test:crash`: SIGKILL of a real client and of a real server at each stage. Hundreds of processes, so it is no
// part of `npm test`.
export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: ['test/crash/**/*.test.ts'],
    retry: 0,
    testTimeout: 60_000,
    hookTimeout: 600_000,
    fileParallelism: false,
  },
});
