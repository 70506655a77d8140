/** Made-up answers under limits. */
import { matching } from '../../lib/evaluation/figures.js';
import { conditions } from '../../lib/experiments/conditions/experiment.js';
import { FORCED_AFTER } from '../../lib/experiments/conditions/limits.js';
import type { LimitedAnswer } from '../../lib/experiments/conditions/limits.js';
import type { Recorded } from '../../lib/experiments/running/records.js';
import type { PolicyRun } from '../../lib/experiments/running/policy-runs.js';
import { syntheticResults, TRAINED, writeRecords } from './synthetic.js';

/** Every answer is right, one turn per search, and forced answers are wrong. */
export async function writeSyntheticConditions(folder: string): Promise<void> {
  const results = syntheticResults({ perTemplate: 7, methods: TRAINED });
  await writeRecords(folder, conditions, (run: PolicyRun): Recorded<LimitedAnswer> => {
    const answers = matching(results, { ...run }).map((answer): LimitedAnswer => {
      const { turns, searches } = answer;
      const numQueries = searches.flat().length;
      let asked = 0;
      const evidenceByTurn = searches.map((queries) => (asked += queries.length) / numQueries);
      const late = FORCED_AFTER.filter((after) => turns > after);
      const forced = late.map((after) => ({ turns: after, answer: 'x', em: 0 as const }));
      return { ...answer, em: 1, evidenceByTurn, transcriptTokens: 100 * turns, forced };
    });
    return { answers };
  });
}
