/**
 * Table 4: what the weights of the decomposition reward (lambda_d) and of the search-count reward (lambda_s) do. The grid is
 * the paper's, with a control that has neither; the paper's own setting is that of the main comparison, whose runs are shared.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { trainingPreset, type Lambdas } from '../../methods/config.js';
import { configHash, contentHash } from '../../io/hash.js';
import { isSameSetting, lambdaMethod, lambdaSettings } from './settings.js';
import { rewardOptions } from '../../rewards/presets.js';
import { useBackend } from '../../tensor/backend.js';
import { evaluationHash, readRecord } from '../evaluation-run.js';
import { EVALUATED, evaluateRuns, SEEDS } from '../evaluate-runs.js';
import type { Experiment, ExperimentContext, ExperimentResults } from '../experiment.js';
import { mainRuns } from '../main-results/runs.js';
import { estimateTraining, stepsOf, trainRuns } from '../train-runs.js';
import { adapterFolder, modelFolder, type PolicyRun } from '../runs.js';

const START = 'instruct';
/** What an evaluation of all test questions takes on one core, roughly: for an estimate and nothing else. */
const ROUGH_EVALUATION_SECONDS = 360;
const NUM_WORKERS = 2;

/** The lambdas of a run: its own, or the paper's. */
export function lambdasOf({ lambdas }: PolicyRun): Lambdas {
  const { lambdaD, lambdaS } = rewardOptions('paper');
  return lambdas ?? { lambdaD, lambdaS };
}

/** ParallelSearch with every setting and seed; the paper's own setting is the main comparison's. */
export function lambdaRuns(): PolicyRun[] {
  const main = lambdasOf({ method: 'parallelsearch', model: START, seed: 1 });
  return SEEDS.flatMap((seed) =>
    lambdaSettings().map((lambdas): PolicyRun => {
      const run = { method: 'parallelsearch', model: START, seed } as const;
      return isSameSetting(lambdas, main) ? run : { ...run, lambdas };
    }),
  );
}

const isTrained = (run: PolicyRun): boolean => existsSync(adapterFolder(run));
const untrainedRuns = (): PolicyRun[] => lambdaRuns().filter((run) => !isTrained(run));

/** The hash of a run's evaluation, or where it is not trained that of its training. */
async function runHash(run: PolicyRun): Promise<string> {
  if (isTrained(run)) return evaluationHash(run);
  return configHash(trainingPreset('parallelsearch', START, run.seed, run.lambdas));
}

/** Runs that are to be evaluated, be it after training. */
async function unevaluatedRuns(): Promise<PolicyRun[]> {
  const isOpen = async (run: PolicyRun): Promise<boolean> =>
    !isTrained(run) || !(await readRecord(EVALUATED, run, await evaluationHash(run)));
  const open = await Promise.all(lambdaRuns().map(isOpen));
  return lambdaRuns().filter((_, i) => open[i]);
}

/** Seconds of training and of evaluation that are to come. */
async function estimateParts(): Promise<{ training: number; evaluation: number }> {
  const runs = (await unevaluatedRuns()).length;
  return {
    training: await estimateTraining(untrainedRuns(), mainRuns().filter(isTrained)),
    evaluation: (runs * ROUGH_EVALUATION_SECONDS) / NUM_WORKERS,
  };
}

async function describePlan(): Promise<string> {
  const untrained = untrainedRuns();
  const steps = untrained.reduce((sum, run) => sum + stepsOf(run), 0);
  const { training, evaluation } = await estimateParts();
  const hours = (seconds: number): string => `${(seconds / 3600).toFixed(1)} h`;
  return [
    `${untrained.length} of ${lambdaRuns().length} runs to train (${steps} steps, ${hours(training)})`,
    `${(await unevaluatedRuns()).length} to evaluate (${hours(evaluation)})`,
  ].join(', ');
}

async function runLambdaAblation({
  outputFolder,
  backend: requested,
  signal,
  onProgress,
}: ExperimentContext): Promise<ExperimentResults> {
  const backend = await useBackend(requested);
  const { training, evaluation } = await estimateParts();
  const share = training / Math.max(1, training + evaluation);
  await trainRuns(untrainedRuns(), {
    ...{ backend: backend.name, signal, log: () => undefined },
    // Checkpoints of another model are of no use.
    folder: join(
      outputFolder,
      'training',
      await contentHash([join(modelFolder(START), 'model.safetensors')]),
    ),
    onProgress: (fraction) => onProgress(share * fraction, 'training'),
  });
  const options = { backend, folder: outputFolder, budgetSeconds: Infinity, signal };
  const report = (fraction: number, note: string): void => onProgress(share + (1 - share) * fraction, note);
  await evaluateRuns(lambdaRuns(), { ...options, onProgress: report }, (run) => lambdaMethod(lambdasOf(run)));
  return { provenance: { seeds: SEEDS, backend: backend.detail } };
}

/** The experiment of `notebooks/02-lambda-ablation.ipynb`: `results.jsonl`, `curves.jsonl` and `provenance.json` are its results. */
export const lambdaAblationExperiment: Experiment = {
  title: 'training with other weights of the decomposition and the search-count reward',
  config: async () => ({ runs: await Promise.all(lambdaRuns().map(runHash)) }),
  plan: describePlan,
  estimateSeconds: async () => {
    const { training, evaluation } = await estimateParts();
    return training + evaluation;
  },
  run: runLambdaAblation,
};
