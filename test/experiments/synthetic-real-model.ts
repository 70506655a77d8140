/** Made-up answers, times and curves of the real model. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { matching } from '../../lib/evaluation/figures.js';
import {
  runFields,
  realModelFresh,
  realModelOthers,
  type FreshRun,
} from '../../lib/experiments/real-model/answering.js';
import { realModelTiming } from '../../lib/experiments/real-model/answering.js';
import { realModel } from '../../lib/experiments/real-model/experiment.js';
import { realModelFacts } from '../../lib/experiments/real-model/facts.js';
import {
  ADAPTERS,
  adapterPath,
  MULTI_HOP,
  TRAINED,
  WARM_UP,
  type RealRun,
} from '../../lib/experiments/real-model/settings.js';
import { packagePath } from '../../lib/io/paths.js';
import { syntheticCurves, syntheticResults, writeRecords } from './synthetic.js';

const formatLines = (rows: readonly object[]): string =>
  rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const UNKNOWN = { coverage: null, evidenceSeen: null, criticalPathRatio: null };

/** A folder with curves and without weights; rewards rise towards 1. */
function writeAdapter(run: RealRun): void {
  const folder = adapterPath(run);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'adapter_model.safetensors'), JSON.stringify(run));
  const own = { method: run.method, seed: run.seed, model: 'instruct' };
  const curve = matching(syntheticCurves({ steps: 31, seeds: 2 }), own);
  const points = curve.map(({ step, reward }) => ({
    step,
    reward,
    turns: 2,
    'completions/mean_length': 80,
    'decomposition_ratio/parallelizable': reward,
    'decomposition_ratio/sequential': 0.1,
  }));
  writeFileSync(join(folder, 'metrics.jsonl'), formatLines(points));
  const tens = points.filter(({ step }) => step % 10 === 0);
  const dev = tens.map(({ step, reward }) => {
    return { step, reward, outcome: reward, decomposition: reward, modelCalls: 3 };
  });
  writeFileSync(join(folder, 'dev.jsonl'), formatLines(dev));
}

/** @throws Error if adapters would be written into the project */
export async function writeSyntheticRealModel(folder: string): Promise<void> {
  if (ADAPTERS === packagePath('data', 'real-model'))
    throw new Error('Expected PARALLELSEARCH_ADAPTERS to name a folder for made-up adapters.');
  [WARM_UP, ...TRAINED].forEach(writeAdapter);
  const results = syntheticResults({ perTemplate: 8, warmUps: 1 });
  await writeRecords(folder, realModel, (run: RealRun) => {
    const { method, seed, model } = runFields(run);
    const measurements = matching(results, { method, seed, model })
      .filter(({ benchmark }) => run.topK === undefined || MULTI_HOP.includes(benchmark))
      .map((one) => ({ ...one, ...(one.benchmark === 'nq' ? UNKNOWN : { hops: 1 }) }));
    return { run, measurements };
  });
  for (const [experiment, isMultiHop] of [
    [realModelFresh, true],
    [realModelOthers, false],
  ] as const)
    await writeRecords(folder, experiment, (run: FreshRun) => {
      const { method, seed, model } = runFields(run);
      const measurements = matching(results, { method, seed, model })
        .filter(({ benchmark }) => MULTI_HOP.includes(benchmark) === isMultiHop)
        .map((one) => ({ ...one, hops: 1, behaviour: { no_search: one.turns === 0 } }));
      return { run, measurements };
    });
  await writeRecords(folder, realModelFacts, (run: FreshRun) => {
    const { method, seed, model } = runFields(run);
    const measurements = matching(results, { method, seed, model, subset: 'parallelizable' });
    return {
      run,
      measurements: measurements.filter(({ benchmark }) => MULTI_HOP.includes(benchmark)),
    };
  });
  await writeRecords(folder, realModelTiming, (runs: readonly RealRun[]) => ({
    answers: runs
      .flatMap(({ method, seed }) => matching(results, { method, seed, model: 'instruct' }))
      .filter(({ benchmark, subset }) => MULTI_HOP.includes(benchmark) && subset !== 'hybrid')
      .map((answer) => ({ ...answer, seconds: 2 * answer.modelCalls })),
  }));
}
