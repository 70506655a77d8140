/** How many steps training runs have left, and how long these take. */
import { join } from 'node:path';
import { mean, sum } from 'd3-array';
import { CHECKPOINTS } from '../io/paths.js';
import { type TrainConfig, trainerSettings } from '../training/config.js';
import { readTrainConfig } from '../training/stored-policies.js';
import { readSteps } from '../pages/run/folder.js';
import type { BackendName } from '../tensor/backend.js';
import { describeDuration } from './cli-utils.js';

/** Backends of the committed runs' speed. */
const NATIVE: readonly BackendName[] = ['native', 'gpu'];

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

/** The committed run of a training's model and method, if there is one. */
async function committedRun({ config: { model, method } }: Training): Promise<Training[]> {
  const folder = join(CHECKPOINTS, `${model}-${method}-seed1`);
  const config = await readTrainConfig(folder);
  return config ? [{ config, folder }] : [];
}

export const stepsLeft = (trainings: readonly Training[]): Promise<number[]> =>
  Promise.all(
    trainings.map(
      async ({ config, folder }) =>
        trainerSettings(config).steps - (await readSteps(folder)).length,
    ),
  );

/**
 * `200 steps to do, about 15 min`, estimated from these trainings' steps, else from
 * committed runs, which a native backend trained; no time if there are neither.
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
  const own = await meanPace(trainings);
  const pace = own ?? (await meanPace(await committed()));
  const numRollouts = sum(trainings, ({ config }, i) => left[i] * rolloutsPerStep(config));
  const steps = `${sum(left)} steps to do`;
  if (pace === undefined || numRollouts === 0) return steps;
  const isForeign = own === undefined && backend !== undefined && !NATIVE.includes(backend);
  const note = isForeign
    ? ` on the native backend; the first step corrects this for ${backend}`
    : '';
  return `${steps}, about ${describeDuration(pace * numRollouts)}${note}`;
}
