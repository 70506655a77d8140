import { expect, it } from 'vitest';
import { writeLines } from '../../lib/io/files.js';
import { compareVariants } from '../../tools/reference/advantage-variants.js';
import { folderForEach } from '../folder.js';

const folder = folderForEach();

it('measures the weight of groups without a correct rollout, and counts wrong rollouts with a positive advantage', async () => {
  const rollout = (outcome: number, format: number) => ({
    step: 0,
    rewards: { outcome, format, total: outcome + format },
  });
  const file = folder('trajectories.jsonl');
  const groups = [
    [rollout(1, 0), rollout(0, 0.1), rollout(0, 0)],
    [rollout(0, 0.1), rollout(0, 0), rollout(0, 0)],
    [rollout(1, 0), rollout(1, 0), rollout(1, 0)], // not trained
  ];
  await writeLines(file, groups.flat());
  const shares = Object.fromEntries(
    (await compareVariants(file, 3)).map(({ variant, ...rest }) => [variant, rest]),
  );
  // Sums of |A| without scale: 2 * (1 - 1.1 / 3) and 2 * (0.1 - 0.1 / 3).
  expect(shares['scaleRewards none'].phantom).toBeCloseTo(1 / 15 / (19 / 30 + 1 / 15), 6);
  // Of five wrong rollouts, the one with format in the second group; summed after
  // normalisation, in the first group too: (0 - 1/3) / .577 + (.1 - .033) / .0577 > 0.
  expect(shares.default.wrongEncouraged).toBeCloseTo(1 / 5, 12);
  expect(shares.normalize_then_sum.wrongEncouraged).toBeCloseTo(2 / 5, 12);
});
