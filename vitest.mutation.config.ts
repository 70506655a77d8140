import { defineConfig } from 'vitest/config';

/** The tests that have to fail on a mutant of the files in `stryker.config.json`; quick ones, for all run on each. */
export default defineConfig({
  test: {
    include: [
      'test/rewards/*.test.ts',
      'test/text/{tags,response,normalize}.test.ts',
      'test/training/{advantages,checkpoint}.test.ts',
      'test/rollout/*.test.ts',
      'test/evaluation/bootstrap.test.ts',
    ],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 60_000,
  },
});
