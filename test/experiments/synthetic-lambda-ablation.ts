/** Made-up answers after training with each setting of the two weights. */
import { matching } from '../../lib/evaluation/figures.js';
import { lambdaAblation, runLambdas } from '../../lib/experiments/lambda-ablation.js';
import type { PolicyRun } from '../../lib/experiments/running/policy-runs.js';
import { syntheticResults, writeRecords } from './synthetic.js';

/** Without lambda_d nothing is decomposed; without lambda_s, two more calls. */
export async function writeSyntheticLambdaAblation(folder: string): Promise<void> {
  const ours = { method: 'parallelsearch', model: 'instruct' };
  const answers = matching(syntheticResults({ perTemplate: 4 }), ours);
  await writeRecords(folder, lambdaAblation, (run: PolicyRun) => {
    const { lambdaD, lambdaS } = runLambdas(run);
    const { initSeed, seed } = run;
    const measurements = matching(answers, { initSeed, seed }).map((answer) => {
      const extra = lambdaS === 0 && answer.subset === 'parallelizable' ? 2 : 0;
      const costs = { turns: answer.turns + extra, modelCalls: answer.modelCalls + extra };
      return { ...answer, ...costs, decomposed: answer.decomposed && lambdaD > 0 };
    });
    return { run, measurements };
  });
}
