/**
 * Runs a supervised warm-up from new weights or from an earlier model, with metrics and
 * checkpoints.
 */
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { sum } from 'd3-array';
import { withFolderLock } from '../../lib/io/folder-lock.js';
import { configHash } from '../../lib/io/provenance.js';
import { METRICS_FILE } from '../../lib/policy/folders/files.js';
import type { Model } from '../../lib/policy/model/model.js';
import { rotaryTable } from '../../lib/policy/model/transformer.js';
import { disposeWeights, type Weights } from '../../lib/policy/model/weights.js';
import { createRandom } from '../../lib/random.js';
import { AdamW, scheduledRate } from '../../lib/training/adamw.js';
import { dropLinesFrom, resumeCheckpoint, saveCheckpoint } from '../../lib/training/checkpoint.js';
import { clipByGlobalNorm } from '../../lib/training/gradients.js';
import { totalWeight } from '../../lib/training/sequences.js';
import { createWarmUpSampler, type WarmUpOptions } from './rows.js';
import { supervisedGradients } from './supervised-gradients.js';

export interface SupervisedStep {
  step: number;
  /** Weighted mean of -log p (nats per token). */
  loss: number;
  gradNorm: number;
  learningRate: number;
  numTokens: number;
  seconds: number;
}

/** What is trained for some steps, with the learning rate's rise and decay. */
export interface WarmUpStage {
  steps: number;
  learningRate: number;
  finalLearningRate: number;
  warmupSteps: number;
  options: WarmUpOptions;
}

export interface WarmUpRun {
  seed: number;
  /** Folder of checkpoint and metrics. */
  folder: string;
  supervised: {
    maxGradNorm: number;
    /** Maximum number of padded tokens per pass. */
    maxTokensPerPass: number;
  };
  stages: WarmUpStage[];
  /** Maximum row length in tokens. */
  maxTokens: number;
  checkpointEvery: number;
}

export const totalSteps = (stages: readonly WarmUpStage[]): number =>
  sum(stages, ({ steps }) => steps);

/** The stage of a step, and the step's index in it. */
function stageAt(
  stages: readonly WarmUpStage[],
  step: number,
): { stage: WarmUpStage; ownStep: number } {
  let ownStep = step;
  for (const stage of stages) {
    if (ownStep < stage.steps) return { stage, ownStep };
    ownStep -= stage.steps;
  }
  throw new RangeError(`Expected a step below ${totalSteps(stages)}, but got ${step}.`);
}

function learningRateAt(stages: readonly WarmUpStage[], step: number): number {
  const { stage, ownStep } = stageAt(stages, step);
  const { learningRate, finalLearningRate, warmupSteps, steps } = stage;
  const schedule = { peak: learningRate, final: finalLearningRate, warmupSteps, totalSteps: steps };
  return scheduledRate(ownStep, schedule);
}

/**
 * Trains `model` and returns the new weights; disposes of the model's own. An interrupted
 * run resumes from its checkpoint.
 * @throws the signal's reason, after saving a checkpoint; Error if another process works
 * in the folder
 */
export const runWarmUp = (
  model: Model,
  run: WarmUpRun,
  options: WarmUpRunOptions,
): Promise<Weights> =>
  withFolderLock(run.folder, (lost) => warmUpInFolder(model, run, { ...options, lost }));

interface WarmUpRunOptions {
  signal?: AbortSignal;
  onStep?: (report: SupervisedStep) => void;
}

async function warmUpInFolder(
  model: Model,
  run: WarmUpRun,
  options: WarmUpRunOptions & { lost: AbortSignal },
): Promise<Weights> {
  const checkpointFolder = join(run.folder, 'checkpoint');
  const optimizer = new AdamW({ weightDecay: 0.01 });
  const { seed, supervised, stages } = run;
  const hash = configHash({ seed, supervised, stages });
  const checkpoint = await resumeCheckpoint(checkpointFolder, hash);
  if (checkpoint) {
    disposeWeights(model.weights);
    optimizer.restore(checkpoint.optimizer);
  }
  const metricsFile = join(run.folder, METRICS_FILE);
  await dropLinesFrom(metricsFile, checkpoint?.state.nextStep ?? 0);
  const random = createRandom(run.seed).fork('warm-up');
  const draw = createWarmUpSampler(model.tokenizer, random, run.maxTokens);
  const { config } = model;
  const table = rotaryTable(config, config.maxPositionEmbeddings);
  let weights = checkpoint?.trainable ?? model.weights;
  for (let step = checkpoint?.state.nextStep ?? 0; step < totalSteps(stages); step++) {
    const start = performance.now();
    const rows = draw(step, stageAt(stages, step).stage.options);
    const { maxGradNorm, maxTokensPerPass } = supervised;
    const passes = { config, table, maxTokensPerPass, totalWeight: totalWeight(rows) };
    const { loss, gradients } = await supervisedGradients(weights, rows, passes);
    const clipped = await clipByGlobalNorm(gradients, maxGradNorm);
    if (!Number.isFinite(clipped.norm))
      throw new Error(
        `Expected a finite norm of the gradients, but got ${clipped.norm}. Lower the learning rate.`,
      );
    const learningRate = learningRateAt(stages, step);
    weights = optimizer.apply(weights, clipped.gradients, learningRate);
    const numTokens = sum(rows, ({ tokenIds }) => tokenIds.length);
    const seconds = (performance.now() - start) / 1000;
    const report = { step, loss, gradNorm: clipped.norm, learningRate, numTokens, seconds };
    options.lost.throwIfAborted();
    await appendFile(metricsFile, `${JSON.stringify(report)}\n`);
    options.onStep?.(report);
    const nextStep = step + 1;
    if (options.signal?.aborted || nextStep % run.checkpointEvery === 0)
      await saveCheckpoint(checkpointFolder, weights, optimizer, { nextStep, hash }, [metricsFile]);
    options.signal?.throwIfAborted();
  }
  tf.dispose([table.cos, table.sin, table.rotation]);
  optimizer.dispose();
  return weights;
}
