import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import { tests } from './stryker.config.mjs';

/** All tests of a part run until one fails. */
class QuickestFirst extends BaseSequencer {
  async sort(files) {
    return (await super.sort(files)).reverse();
  }
}

/**
 * Stryker counts failed tests: without this, a change with which no test can be loaded
 * would pass for one that none noticed.
 */
const unloadable = {
  onTestModuleEnd: (module) =>
    module.errors().forEach((error) => module.project.vitest.state.catchError(error, 'Unloadable')),
};

/**
 * The tests that have to notice what Stryker changes in a part, and no others. Counting
 * what they reach is slow.
 */
export default defineConfig({
  test: {
    include: tests,
    reporters: [unloadable],
    sequence: { sequencer: QuickestFirst },
    testTimeout: 600_000,
  },
});
