/** Mutation testing of one part: `PART=text npx stryker run` (docs/mutation.md). */

/** What is changed, and the tests that have to notice. */
const PARTS = {
  rewards: { mutate: ['lib/rewards/*.ts'], tests: ['test/rewards/*.test.ts'] },
  text: { mutate: ['lib/text/**/*.ts'], tests: ['test/text/**/!(long-texts).test.ts'] },
  rollout: { mutate: ['lib/rollout/*.ts'], tests: ['test/rollout/*.test.ts'] },
  grpo: {
    mutate: ['lib/training/{adapter,advantages,grpo,rollout-groups,trainer}.ts'],
    tests: [
      'test/training/{adapter,advantages,grpo,grpo-loss,importance-sampling,llds,rollout-groups,trainer,trl}.test.ts',
    ],
  },
  bootstrap: {
    mutate: ['lib/evaluation/{bootstrap,estimate}.ts'],
    tests: ['test/evaluation/{bootstrap,estimate}.test.ts'],
  },
  checkpoint: {
    mutate: ['lib/training/checkpoint.ts'],
    tests: ['test/training/checkpoint.alone.test.ts'],
  },
  lock: { mutate: ['lib/io/folder-lock.ts'], tests: ['test/io/folder-lock.test.ts'] },
};

const name = process.env.PART ?? '';
if (!Object.hasOwn(PARTS, name))
  throw new Error(
    `Expected PART to be one of ${Object.keys(PARTS).join(', ')}, but got ${name || 'none'}.`,
  );

export const { mutate, tests } = PARTS[name];

export default {
  mutate,
  testRunner: 'vitest',
  vitest: { configFile: 'vitest.mutation.config.mjs', related: false },
  coverageAnalysis: 'perTest',
  ignoreStatic: true,
  concurrency: 1,
  timeoutMS: 60_000,
  reporters: ['clear-text', 'json'],
  jsonReporter: { fileName: `runs/mutation-${name}.json` },
  tempDirName: 'runs/stryker',
  ignorePatterns: ['/reports', '/runs', '/notebooks', '!/notebooks/package.json'],
};
