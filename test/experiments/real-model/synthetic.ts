/**
 * Made-up answers, times and curves of the real model, in adapters' folders that hold no
 * weights. They are never shown as results.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { matching } from '../../../lib/evaluation/table.js';
import { whoOf } from '../../../lib/experiments/real-model/experiment.js';
import { realModel, realModelTiming } from '../../../lib/experiments/real-model/experiment.js';
import {
  ADAPTERS,
  adapterOf,
  MULTI_HOP,
  TRAINED,
  WARM_UP,
  type RealRun,
} from '../../../lib/experiments/real-model/settings.js';
import { packagePath } from '../../../lib/io/paths.js';
import { syntheticCurves, syntheticResults, writeRecords } from '../synthetic.js';

const printLines = (rows: readonly object[]): string =>
  rows.map((row) => `${JSON.stringify(row)}\n`).join('');

const WITHOUT_GRAPH = {
  hops: undefined,
  coverage: null,
  evidenceSeen: null,
  criticalPathRatio: null,
};

/**
 * A method's training and what it got on questions kept back; the made-up rewards rise
 * towards 1.
 */
function writeAdapter(run: RealRun): void {
  const folder = adapterOf(run);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'adapter_model.safetensors'), JSON.stringify(run));
  const own = { method: run.method, seed: run.seed, model: 'instruct' };
  const points = matching(syntheticCurves({ steps: 31, seeds: 2 }), own).map(
    ({ step, reward }) => ({
      step,
      reward,
      turns: 2,
      'completions/mean_length': 80,
      'decomposition_ratio/parallelizable': reward,
      'decomposition_ratio/sequential': 0.1,
    }),
  );
  writeFileSync(join(folder, 'metrics.jsonl'), printLines(points));
  const tried = points.filter(({ step }) => step % 10 === 0);
  const dev = tried.map(({ step, reward }) => ({
    step,
    reward,
    outcome: reward,
    decomposition: reward,
    modelCalls: 3,
  }));
  writeFileSync(join(folder, 'dev.jsonl'), printLines(dev));
}

/**
 * Writes adapters' folders and results. @param folder of results
 * @throws Error where adapters would lie in the project: they are made up
 */
export async function writeSyntheticRealModel(folder: string): Promise<void> {
  if (ADAPTERS === packagePath('data', 'real-model'))
    throw new Error('Expected PARALLELSEARCH_ADAPTERS to name a folder for made-up adapters.');
  [WARM_UP, ...TRAINED].forEach(writeAdapter);
  const results = syntheticResults({ perTemplate: 8, warmUps: 1 });
  await writeRecords(folder, realModel, (run: RealRun) => {
    const { method, seed, model } = whoOf(run);
    const own = matching(results, { method, seed, model });
    const isAsked =
      run.topK === undefined ? () => true : (name: string) => MULTI_HOP.includes(name);
    // As of many real questions, nobody knows what the evidence is.
    const measurements = own
      .filter(({ benchmark }) => isAsked(benchmark))
      .map((one) => ({ ...one, ...(one.benchmark === 'nq' ? WITHOUT_GRAPH : { hops: 1 }) }));
    return { run, measurements };
  });
  await writeRecords(folder, realModelTiming, (runs: readonly RealRun[]) => ({
    answers: runs
      .flatMap((run) =>
        matching(results, { method: run.method, seed: run.seed, model: 'instruct' }),
      )
      .filter(({ benchmark, subset }) => MULTI_HOP.includes(benchmark) && subset !== 'hybrid')
      .map((answer) => ({ ...answer, seconds: 2 * answer.modelCalls })),
  }));
}
