/** How many steps trainings have left and how long they take. */
import { join } from 'node:path';
import { mean, sum } from 'd3-array';
import { CHECKPOINTS } from '../io/paths.js';
import { type TrainConfig, trainerSettings } from '../training/config.js';
import { readTrainConfig } from '../training/checkpoints.js';
import { readSteps } from '../pages/run/folder.js';
import { describeDuration } from './cli-utils.js';

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

/** Steps left of each training. */
export const stepsLeft = (trainings: readonly Training[]): Promise<number[]> =>
  Promise.all(
    trainings.map(
      async ({ config, folder }) =>
        trainerSettings(config).steps - (await readSteps(folder)).length,
    ),
  );

/**
 * `200 steps to do, about 15 min`, estimated from these trainings' steps, else from
 * committed runs; no time if there are neither.
 */
export async function describeStepsLeft(trainings: readonly Training[]): Promise<string> {
  const left = await stepsLeft(trainings);
  const meanPace = async (runs: readonly Training[]): Promise<number | undefined> =>
    mean(await Promise.all(runs.map(secondsPerRollout)));
  const committed = async (): Promise<Training[]> =>
    (await Promise.all(trainings.map(committedRun))).flat();
  const pace = (await meanPace(trainings)) ?? (await meanPace(await committed()));
  const numRollouts = sum(trainings, ({ config }, i) => left[i] * rolloutsPerStep(config));
  const about = pace && numRollouts > 0 ? `, about ${describeDuration(pace * numRollouts)}` : '';
  return `${sum(left)} steps to do${about}`;
}
