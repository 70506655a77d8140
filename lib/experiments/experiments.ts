/** The experiments that notebooks read, by name. */
import type { Experiment } from './experiment.js';
import { lambdaAblationExperiment } from './lambda-ablation.js';
import { latencyExperiment } from './latency.js';
import { timingExperiment } from './timing.js';
import { topKExperiment } from './top-k.js';
import { trajectoriesExperiment } from './trajectories.js';

export const EXPERIMENTS: Readonly<Record<string, Experiment>> = {
  'lambda-ablation': lambdaAblationExperiment,
  'top-k': topKExperiment,
  timing: timingExperiment,
  trajectories: trajectoriesExperiment,
  latency: latencyExperiment,
};
