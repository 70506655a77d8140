/** Made-up answers of policies trained with and without hybrid questions. */
import { matching } from '../../lib/evaluation/table.js';
import type { Stage, StageRecord } from '../../lib/experiments/fresh-test.js';
import { hybrids } from '../../lib/experiments/hybrids.js';
import { syntheticResults, writeRecords } from './synthetic.js';

/**
 * All answers are right, but for those of ParallelSearch to hybrid questions where RL has
 * none of them and no demonstration shows them at once.
 */
export async function writeSyntheticHybrids(folder: string): Promise<void> {
  const results = matching(syntheticResults({ perTemplate: 14 }), { model: 'instruct' });
  await writeRecords(folder, hybrids, ({ run }: Stage): StageRecord => {
    const { method, initSeed, seed, model, hybridShare } = run;
    const isUnused = method === 'parallelsearch' && model === 'instruct' && !hybridShare;
    return {
      answers: matching(results, { method, initSeed, seed }).map((answer) => ({
        ...answer,
        em: isUnused && answer.subset === 'hybrid' ? 0 : 1,
      })),
    };
  });
}
