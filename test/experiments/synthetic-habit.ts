/** Made-up answers of runs from hasty models. */
import { matching } from '../../lib/evaluation/table.js';
import type { Stage, StageRecord } from '../../lib/experiments/fresh-test.js';
import { HASTY_STEPS, habit } from '../../lib/experiments/habit.js';
import { syntheticResults, writeRecords } from './synthetic.js';

/**
 * One search before training. ParallelSearch finds all evidence after the first steps,
 * Search-R1 after the last. With all evidence every answer is right, else none is.
 */
export async function writeSyntheticHabit(folder: string): Promise<void> {
  const results = matching(syntheticResults({ perTemplate: 14 }), { model: 'instruct' });
  await writeRecords(folder, habit, ({ run, step }: Stage): StageRecord => {
    const { method, initSeed, seed } = run;
    const evidenceSeen =
      step > 0 && method === 'parallelsearch' ? 1 : Math.max(step, 25) / HASTY_STEPS;
    return {
      answers: matching(results, { method, initSeed, seed }).map((answer) => ({
        ...answer,
        evidenceSeen,
        em: evidenceSeen === 1 ? 1 : 0,
        ...(step === 0 && { turns: 1, modelCalls: 2, decomposed: false }),
      })),
    };
  });
}
