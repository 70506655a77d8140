/** Estimates before training: remaining steps and time, and memory. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { mean, sum } from 'd3-array';
import { CHECKPOINTS } from '../../io/paths.js';
import { type ModelConfig, numParameters } from '../../policy/model/families.js';
import type { BackendName } from '../../tensor/backend.js';
import { LOGITS_AT_ONCE } from '../../tensor/ops.js';
import { type TrainConfig, trainerSettings } from '../../training/config.js';
import { readTrainConfig } from '../../training/models.js';
import { readSteps } from '../../training/run-folder.js';
import { checkpointFolder } from '../../training/run.js';
import { describeDuration } from './cli-utils.js';

/**
 * Time per step, relative to the committed runs': they trained two at a time, on a native
 * backend that did not run graphs yet.
 */
const RELATIVE_TIME = { native: 0.5, wasm: 1.1 };

interface Training {
  config: TrainConfig;
  folder: string;
}

function rolloutsPerStep(config: TrainConfig): number {
  const { questionsPerStep, groupSize } = trainerSettings(config);
  return questionsPerStep * groupSize;
}

/** Seconds per rollout with its share of the update; undefined before the first step. */
async function secondsPerRollout({ config, folder }: Training): Promise<number | undefined> {
  const seconds = mean(
    await readSteps(folder),
    ({ metrics }) => metrics.rollout_seconds + metrics.update_seconds,
  );
  return seconds && seconds / rolloutsPerStep(config);
}

/** The committed run with the same model and method, if any. */
async function committedRun({ config: { model, method } }: Training): Promise<Training[]> {
  const folder = join(CHECKPOINTS, `${model}-${method}-seed1`);
  const config = await readTrainConfig(folder);
  return config ? [{ config, folder }] : [];
}

export const stepsLeft = (trainings: readonly Training[]): Promise<number[]> =>
  Promise.all(
    trainings.map(async ({ config, folder }) => {
      const numDone = existsSync(checkpointFolder(folder)) ? (await readSteps(folder)).length : 0;
      return Math.max(0, trainerSettings(config).steps - numDone);
    }),
  );

/**
 * `200 steps to do, about 15 min`, estimated from these runs' own steps, else from
 * committed runs; without a time if there are neither.
 * @param backend that trains
 */
export async function describeStepsLeft(
  trainings: readonly Training[],
  backend?: BackendName,
): Promise<string> {
  const left = await stepsLeft(trainings);
  const meanPace = async (runs: readonly Training[]): Promise<number | undefined> =>
    mean(await Promise.all(runs.map(secondsPerRollout)));
  const committed = async (): Promise<Training[]> =>
    (await Promise.all(trainings.map(committedRun))).flat();
  const measuredPace = await meanPace(trainings);
  const committedPace = await meanPace(await committed());
  const assumed = backend === 'wasm' ? backend : 'native';
  const pace = measuredPace ?? (committedPace && committedPace * RELATIVE_TIME[assumed]);
  const numRollouts = sum(trainings, ({ config }, i) => left[i] * rolloutsPerStep(config));
  const steps = `${sum(left)} steps to do`;
  if (pace === undefined || numRollouts === 0) return steps;
  const isForeign = measuredPace === undefined && assumed !== backend;
  const correction = backend ? `; the first step corrects this for ${backend}` : '';
  const note = isForeign ? ` on the ${assumed} backend${correction}` : '';
  return `${steps}, about ${describeDuration(pace * numRollouts)}${note}`;
}

/** Bytes of Node, the backend and the data, without a model. */
const BASELINE_BYTES = 0.35e9;
const FLOAT = 4;
/** Allocators hold about twice the memory in use. */
const ALLOCATOR_FACTOR = 2;

/** Tokens of the longest possible context of a rollout. */
function longestContext(model: ModelConfig, { rollout }: TrainConfig): number {
  const { maxSearchTurns, maxNewTokens, maxInformationTokens } = rollout;
  const prompt = 300;
  const turns = maxSearchTurns * (maxNewTokens + maxInformationTokens) + maxNewTokens;
  return Math.min(model.maxPositionEmbeddings, prompt + turns);
}

/**
 * Estimated peak bytes of adapter training with gradient checkpointing: the weights, plus
 * the larger of the KV cache and the activations of one pass. Fitted to SmolLM2-135M on
 * the native backend: 1.9 GB for a row of 556 tokens, 2.9 GB for four.
 */
export function trainingMemory(model: ModelConfig, config: TrainConfig): number {
  const { numLayers, numHeads, numKeyValueHeads, headDim, hiddenSize, intermediateSize } = model;
  const { groupSize, questionsPerStep, maxTokensPerPass } = trainerSettings(config);
  const longest = longestContext(model, config);
  const weights = 1.1 * numParameters(model) * FLOAT;
  const cache = groupSize * questionsPerStep * longest * numLayers * 2 * numKeyValueHeads * headDim;
  const floatsPerToken =
    numLayers * hiddenSize + 8 * numHeads * longest + 12 * hiddenSize + 14 * intermediateSize;
  const pass = Math.max(longest, maxTokensPerPass) * floatsPerToken;
  const logits = 8 * Math.min(LOGITS_AT_ONCE, maxTokensPerPass * model.vocabSize);
  return BASELINE_BYTES + weights + ALLOCATOR_FACTOR * FLOAT * (Math.max(cache, pass) + logits);
}
