/** What trainings have to do, and how long that takes: said before it is spent. */
import { join } from 'node:path';
import { mean, sum } from 'd3-array';
import { CHECKPOINTS } from '../io/paths.js';
import { type TrainConfig, trainerSettings } from '../training/config.js';
import { trainConfigOf } from '../training/checkpoints.js';
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

/**
 * Seconds that a rollout and its share of the update took in a run; undefined where it
 * has done no step.
 */
async function secondsPerRollout({ config, folder }: Training): Promise<number | undefined> {
  const seconds = mean(
    await readSteps(folder),
    ({ metrics }) => metrics.rollout_seconds + metrics.update_seconds,
  );
  return seconds && seconds / rolloutsPerStep(config);
}

/** The committed run of a training's model and method; none for a model of one's own. */
async function committedRun({ config: { model, method } }: Training): Promise<Training[]> {
  const folder = join(CHECKPOINTS, `${model}-${method}-seed1`);
  const config = await trainConfigOf(folder);
  return config ? [{ config, folder }] : [];
}

/** Numbers of steps that trainings have left. */
export const stepsLeft = (trainings: readonly Training[]): Promise<number[]> =>
  Promise.all(
    trainings.map(
      async ({ config, folder }) =>
        trainerSettings(config).steps - (await readSteps(folder)).length,
    ),
  );

/**
 * `200 steps to do, about 15 min`, by the steps of these trainings, else by those of
 * committed runs; without a time where there are neither.
 */
export async function describeStepsLeft(trainings: readonly Training[]): Promise<string> {
  const left = await stepsLeft(trainings);
  const paceOf = async (runs: readonly Training[]): Promise<number | undefined> =>
    mean(await Promise.all(runs.map(secondsPerRollout)));
  const committed = async (): Promise<Training[]> =>
    (await Promise.all(trainings.map(committedRun))).flat();
  const pace = (await paceOf(trainings)) ?? (await paceOf(await committed()));
  const numRollouts = sum(trainings, ({ config }, i) => left[i] * rolloutsPerStep(config));
  const about = pace && numRollouts > 0 ? `, about ${describeDuration(pace * numRollouts)}` : '';
  return `${sum(left)} steps to do${about}`;
}
