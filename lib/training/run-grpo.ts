/** A GRPO run: steps with metrics, trajectories, checkpoints and guards, from a start to an adapter. */
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { configHash, type TrainConfig } from '../config.js';
import { questionShape, type Question } from '../data/question.js';
import { LocalPolicy } from '../policy/local-policy.js';
import { arraysFromAdapter, createAdapter, peftConfig } from '../policy/lora.js';
import { writeFileSafely, type Model } from '../policy/model-folder.js';
import { printSafetensors } from '../policy/safetensors.js';
import { rotaryTable } from '../policy/transformer.js';
import { disposeWeights, type Weights } from '../policy/weights.js';
import { createRandom, type Random } from '../random.js';
import { createLruCache } from '../retrieval/cache.js';
import type { Retriever } from '../retrieval/retriever.js';
import { rewardOptions } from '../rewards/presets.js';
import { AdamW, scheduledRate } from './adamw.js';
import { dropLinesFrom, resumeCheckpoint, saveCheckpoint, type RunState } from './checkpoint.js';
import { grpoStep, type GrpoMetrics, type GrpoSetting } from './grpo.js';
import { alarmsOf } from './guards.js';

export interface GrpoRun {
  config: TrainConfig;
  /** The start; its weights stay the caller's. */
  start: Model;
  questions: readonly Question[];
  retriever: Retriever;
  /** Hash of the start's weights, the questions and the passages: a run does not go on with others. */
  inputsHash: string;
  /** Where metrics, trajectories, checkpoint and adapter go. */
  folder: string;
  signal?: AbortSignal;
  onStep?: (step: number, metrics: GrpoMetrics, alarms: string[]) => void;
}

/** Questions by kind, so that each kind has its share of every step. */
export function createQuestionSampler(
  questions: readonly Question[],
  mix: TrainConfig['grpo']['mix'],
): (random: Random, count: number) => Question[] {
  const where = (test: (shape: string, size: number) => boolean): Question[] =>
    questions.filter(
      ({ metadata }) => metadata.graph && test(questionShape(metadata.graph), metadata.graph.length),
    );
  const groups = [
    { weight: mix.singleHop, pool: where((shape) => shape === 'single_hop') },
    { weight: mix.sequential, pool: where((shape) => shape === 'sequential') },
    ...mix.comparisons.map((weight, i) => ({
      weight,
      pool: where((shape, size) => shape === 'parallelizable' && size === i + 2),
    })),
  ].filter(({ weight, pool }) => weight > 0 && pool.length > 0);
  if (groups.length === 0)
    throw new Error('Expected training questions with dependency graphs, but got none.');
  const total = groups.reduce((sum, { weight }) => sum + weight, 0);
  return (random, count) =>
    Array.from({ length: count }, () => {
      let left = random.uniform() * total;
      return random.choice((groups.find(({ weight }) => (left -= weight) < 0) ?? groups[0]).pool);
    });
}

function settingOf({ config, start, retriever }: GrpoRun): GrpoSetting {
  const { preset, ...overrides } = config.rewards;
  return {
    policy: new LocalPolicy(config.method, start.weights, start.config, start.tokenizer),
    base: start.weights,
    config: start.config,
    table: rotaryTable(start.config, start.config.maxPositionEmbeddings),
    lora: config.lora,
    retriever,
    rollout: { ...config.rollout, temperature: config.grpo.temperature, cache: createLruCache(20_000) },
    rewards: rewardOptions(preset, overrides),
    grpo: config.grpo,
  };
}

const hashOf = ({ config, inputsHash }: GrpoRun): string => configHash({ config, inputsHash });

/** The adapter and optimizer of a checkpoint, or fresh ones. */
async function resume(run: GrpoRun, optimizer: AdamW): Promise<{ adapter: Weights; firstStep: number }> {
  const { config, start, folder } = run;
  const checkpoint = await resumeCheckpoint(join(folder, 'checkpoint'), hashOf(run));
  if (!checkpoint) {
    const adapter = createAdapter(start.config, config.lora, createRandom(config.seed).fork('adapter'));
    return { adapter, firstStep: 0 };
  }
  optimizer.restore(checkpoint.optimizer);
  return { adapter: checkpoint.trainable, firstStep: checkpoint.state.nextStep };
}

/**
 * Trains and writes `adapter/` (PEFT's format). A run that was stopped goes on from its checkpoint, with the same result as
 * one that was not.
 * @throws the signal's reason after a checkpoint; Error when a metric is not a number
 */
export async function runGrpo(run: GrpoRun): Promise<void> {
  const { config, folder } = run;
  await mkdir(folder, { recursive: true });
  const optimizer = new AdamW({ beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0 });
  const { adapter, firstStep } = await resume(run, optimizer);
  const setting = settingOf(run);
  const drawQuestions = createQuestionSampler(run.questions, config.grpo.mix);
  const [metricsFile, trajectoriesFile] = ['metrics.jsonl', 'trajectories.jsonl'].map((name) =>
    join(folder, name),
  );
  await Promise.all([metricsFile, trajectoriesFile].map((path) => dropLinesFrom(path, firstStep)));
  let current = adapter;
  const keep = (nextStep: number): Promise<void> =>
    saveCheckpoint<RunState>(join(folder, 'checkpoint'), current, optimizer, { nextStep, hash: hashOf(run) });
  const random = createRandom(config.seed).fork('grpo');
  for (let step = firstStep; step < config.grpo.steps; step++) {
    if (run.signal?.aborted) {
      await keep(step);
      run.signal.throwIfAborted();
    }
    const stepRandom = random.fork(step);
    const { learningRate, warmupSteps, steps, questionsPerStep } = config.grpo;
    const result = await grpoStep(
      setting,
      current,
      drawQuestions(stepRandom.fork('questions'), questionsPerStep),
      {
        optimizer,
        random: stepRandom,
        learningRate: scheduledRate(step, {
          peak: learningRate,
          final: learningRate,
          warmupSteps,
          totalSteps: steps,
        }),
      },
    );
    current = result.adapter;
    const alarms = alarmsOf(result.metrics);
    await appendFile(metricsFile, `${JSON.stringify({ step, ...result.metrics, alarms })}\n`);
    const lines = result.trajectories.map(
      (trajectory) => `${JSON.stringify({ step, method: config.method, ...compact(trajectory) })}\n`,
    );
    await appendFile(trajectoriesFile, lines.join(''));
    run.onStep?.(step, result.metrics, alarms);
    if ((step + 1) % config.checkpointEvery === 0 || step + 1 === steps) await keep(step + 1);
  }
  await saveAdapter(run, current);
  setting.policy.dispose();
  optimizer.dispose();
  disposeWeights(current);
  tf.dispose([setting.table.cos, setting.table.sin, setting.table.rotation]);
}

/** A trajectory for the record: log-probabilities to four places. */
function compact<T extends { segments: { logProbs?: number[] }[] }>(trajectory: T): T {
  const segments = trajectory.segments.map((segment) =>
    segment.logProbs
      ? { ...segment, logProbs: segment.logProbs.map((x) => Math.round(x * 1e4) / 1e4) }
      : segment,
  );
  return { ...trajectory, segments };
}

async function saveAdapter({ config, start, folder }: GrpoRun, adapter: Weights): Promise<void> {
  const arrays = await arraysFromAdapter(adapter, start.config, config.lora);
  const bytes = printSafetensors(arrays, { storage: 'F16', metadata: { config_hash: configHash(config) } });
  const adapterFolder = join(folder, 'adapter');
  await writeFileSafely(join(adapterFolder, 'adapter_model.safetensors'), bytes);
  const print = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
  await writeFileSafely(
    join(adapterFolder, 'adapter_config.json'),
    print(peftConfig(config.lora, `../${config.start}`)),
  );
  await writeFileSafely(join(adapterFolder, 'train_config.json'), print(config));
}
