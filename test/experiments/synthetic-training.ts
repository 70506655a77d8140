/** Made-up answers of policies trained from other models, or with other rewards. */
import type { Measurement } from '../../lib/evaluation/measurement.js';
import { matching } from '../../lib/evaluation/figures.js';
import type { Recorded } from '../../lib/experiments/running/records.js';
import { HASTY_STEPS, TRAINING_TESTS } from '../../lib/experiments/training/tests.js';
import type { Stage } from '../../lib/experiments/training/fresh-test-experiment.js';
import { syntheticResults, TRAINED, writeRecords } from './synthetic.js';

/** What a stage answers instead of the made-up answer. */
type Change = (stage: Stage, answer: Measurement & { subset: string }) => Partial<Measurement>;

/**
 * One search before training. ParallelSearch finds all evidence after the first steps,
 * Search-R1 after the last. With all evidence every answer is right, else none is.
 */
const fromHasty: Change = ({ run: { method }, step }) => {
  const evidenceSeen =
    step > 0 && method === 'parallelsearch' ? 1 : Math.max(step, 25) / HASTY_STEPS;
  const before = step === 0 ? { turns: 1, modelCalls: 2, decomposed: false } : {};
  return { ...before, evidenceSeen, em: evidenceSeen === 1 ? 1 : 0 };
};

/**
 * All answers are right, except ParallelSearch's to hybrid questions if RL has none and
 * no demonstration searches both chains in parallel, or if r_d is left out.
 */
const onHybrids: Change = ({ run }, { subset }) => {
  const { method, model, hybridShare, lambdas } = run;
  const isUnused = model === 'instruct' && (!hybridShare || lambdas !== undefined);
  return { em: method === 'parallelsearch' && isUnused && subset === 'hybrid' ? 0 : 1 };
};

/** All answers are right, except Search-R1's with r_s. */
const byReward: Change = ({ run: { method, lambdas } }) => ({
  em: method === 'search-r1' && lambdas ? 0 : 1,
});

/** Answers with one passage are wrong, except those of the main comparison's runs. */
const byPassages: Change = ({ run: { nearMisses }, topK }) => ({
  em: nearMisses && topK === 1 ? 0 : 1,
});

/** All answers are right, except with raw-cut information. */
const byCut: Change = ({ run: { halvedBy } }) => ({ em: halvedBy === 'raw' ? 0 : 1 });

export async function writeSyntheticTraining(folder: string): Promise<void> {
  const results = matching(syntheticResults({ perTemplate: 7, methods: TRAINED }), {
    model: 'instruct',
  });
  const changes: Record<string, Change> = {
    habit: fromHasty,
    'habit-seeds': fromHasty,
    hybrids: onHybrids,
    paired: onHybrids,
    'which-reward': byReward,
    'information-cut': byCut,
  };
  for (const { name, experiment } of TRAINING_TESTS)
    await writeRecords(folder, experiment, (stage: Stage): Recorded => {
      const change = changes[name] ?? byPassages;
      const { method, initSeed, seed } = stage.run;
      const answers = matching(results, { method, initSeed, seed });
      return { answers: answers.map((answer) => ({ ...answer, ...change(stage, answer) })) };
    });
}
