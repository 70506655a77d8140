import { configDefaults, defineConfig } from 'vitest/config';

/**
 * * Files that replace modules, set the environment, or add to what a process has one of
 * (registries, as all examples do): each has a process of its own. The others share two,
 * which read each module once: that halves the time.
 */
const ALONE = ['test/examples/*.test.ts', 'test/**/*.alone.test.ts'];

// tfjs keeps its backend in global state, and a second one in a worker thread fails:
// processes, not threads.
const common = { pool: 'forks', testTimeout: 60_000, hookTimeout: 120_000 } as const;

export default defineConfig({
  test: {
    globalSetup: 'test/stand-ins.ts',
    maxWorkers: 2,
    projects: [
      { test: { ...common, name: 'alone', include: ALONE } },
      {
        test: {
          ...common,
          name: 'shared',
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...ALONE],
        },
      },
    ],
  },
});
