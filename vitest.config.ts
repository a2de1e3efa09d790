import { defineConfig } from 'vitest/config';

const exclude = [
  '**/node_modules/**',
  '**/dist/**',
  'test/programs/**',
  'test/conformance/**',
  'test/heavy/**',
  'test/wire/**',
  'test/matrix/**',
  'test/crash/**',
  // The corpus is replayed here, new inputs are made by `npm run test:fuzz`.
  'test/fuzz/{classifier,live}.test.ts',
];

// `unit` runs beside its subject and touches nothing but memory and temporary files;
// `system` starts real servers, sockets and processes and therefore runs one file at a time.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts', 'examples/*/src/**/*.test.ts'],
          exclude,
        },
      },
      {
        test: {
          name: 'system',
          include: ['test/**/*.test.ts'],
          exclude,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          fileParallelism: false,
          // Real processes and sockets on a shared machine: a test that fails twice in a row has failed.
          retry: process.env['CI'] === 'true' ? 1 : 0,
        },
      },
    ],
  },
});
