/** The experiments, in the order of their notebooks. A new one is its folder and its line here. */
import type { Experiment } from './experiment.js';
import { lambdaAblation } from './lambda-ablation/experiment.js';
import { latency } from './latency/experiment.js';
import { mainResults } from './main-results/experiment.js';
import { timing } from './timing/experiment.js';
import { topK } from './top-k/experiment.js';
import { trajectories } from './trajectories/experiment.js';

export const EXPERIMENTS: readonly Experiment[] = [
  ...[mainResults, lambdaAblation, topK],
  ...[timing, latency, trajectories],
];
