import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';

/**
 * Files that replace modules, set the environment or add to a registry each have a
 * process of their own. The others share processes, which load each module once: half the
 * time. So do the examples, which add to registries under names of their own.
 */
const ALONE = ['test/**/*.alone.test.ts'];
const EXAMPLES = ['test/examples/*.test.ts'];
/** Examples import the package, as they would elsewhere. */
const INDEX = fileURLToPath(new URL('lib/index.ts', import.meta.url));

// tfjs keeps its backend in global state and fails in a second worker thread: processes.
const common = {
  pool: 'forks' as const,
  // Room for short-lived objects: less garbage collection.
  execArgv: ['--max-semi-space-size=64'],
  setupFiles: 'test/quiet.ts',
  // For a machine that is busy with other things.
  testTimeout: 180_000,
  hookTimeout: 180_000,
};

export default defineConfig({
  test: {
    globalSetup: 'test/stand-ins.ts',
    maxWorkers: 2,
    projects: [
      { test: { ...common, name: 'alone', include: ALONE } },
      {
        resolve: { alias: { parallelsearch: INDEX } },
        test: { ...common, name: 'examples', isolate: false, include: EXAMPLES },
      },
      {
        test: {
          ...common,
          name: 'shared',
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...ALONE, ...EXAMPLES],
        },
      },
    ],
  },
});
