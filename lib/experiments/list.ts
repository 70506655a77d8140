/**
 * The experiments, in the order of their notebooks. A new one is its folder and its line
 * here.
 */
import { baselines, baselinesTiming } from './baselines/experiment.js';
import { baseVsInstruct } from './base-vs-instruct/experiment.js';
import { decomposition } from './decomposition/experiment.js';
import type { Experiment } from './experiment.js';
import { failures } from './failures/experiment.js';
import { lambdaAblation } from './lambda-ablation/experiment.js';
import { latency } from './latency/experiment.js';
import { mainResults } from './main-results/experiment.js';
import { realModel, realModelTiming } from './real-model/experiment.js';
import { scale } from './scale/experiment.js';
import { timing } from './timing/experiment.js';
import { parallelVsSequential } from './parallel-vs-sequential/experiment.js';
import { topK } from './top-k/experiment.js';
import { trajectories } from './trajectories/experiment.js';

export const EXPERIMENTS: Experiment[] = [
  mainResults,
  lambdaAblation,
  baseVsInstruct,
  topK,
  parallelVsSequential,
  decomposition,
  timing,
  latency,
  baselines,
  baselinesTiming,
  scale,
  failures,
  trajectories,
  realModel,
  realModelTiming,
];
