/** What `npm run test:full` adds to `npm test`. */
import { it } from 'vitest';

/** Whether to run slow tests, too. */
export const isFull = process.env.PARALLELSEARCH_TEST_FULL === '1';

/** A test of the full run; its title ends in `(needs test:full)`. */
export const slow = it.skipIf(!isFull);

/** Number of cases, resamples or steps: a few in `npm test`, more in the full run. */
export const cases = (quick: number, full: number): number => (isFull ? full : quick);
