/** The experiments that notebooks read, by name. */
import type { Experiment } from './experiment.js';
import { lambdaAblationExperiment } from './lambda-ablation/run.js';
import { latencyExperiment } from './latency/run.js';
import { timingExperiment } from './timing/run.js';
import { topKExperiment } from './top-k/run.js';
import { trajectoriesExperiment } from './trajectories/run.js';

export const EXPERIMENTS: Readonly<Record<string, Experiment>> = {
  'lambda-ablation': lambdaAblationExperiment,
  'top-k': topKExperiment,
  timing: timingExperiment,
  trajectories: trajectoriesExperiment,
  latency: latencyExperiment,
};
