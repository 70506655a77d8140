/** Made-up answers of policies trained with and without hybrid questions. */
import { matching } from '../../lib/evaluation/table.js';
import type { Stage, StageRecord } from '../../lib/experiments/fresh-test.js';
import { hybrids, paired } from '../../lib/experiments/hybrids.js';
import { syntheticResults, writeRecords } from './synthetic.js';

/**
 * All answers are right, but for those of ParallelSearch to hybrid questions where RL has
 * none of them and no demonstration shows them at once, or where r_d is left out.
 */
export async function writeSyntheticHybrids(folder: string): Promise<void> {
  const results = matching(syntheticResults({ perTemplate: 14 }), { model: 'instruct' });
  const answer = ({ run }: Stage): StageRecord => {
    const { method, initSeed, seed, model, hybridShare, lambdas } = run;
    const isUnused =
      method === 'parallelsearch' &&
      model === 'instruct' &&
      (!hybridShare || lambdas !== undefined);
    return {
      answers: matching(results, { method, initSeed, seed }).map((one) => ({
        ...one,
        em: isUnused && one.subset === 'hybrid' ? 0 : 1,
      })),
    };
  };
  for (const experiment of [hybrids, paired]) await writeRecords(folder, experiment, answer);
}
