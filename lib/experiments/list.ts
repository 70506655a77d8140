/** The experiments, in the order of their notebooks. Register new ones here. */
import { baseVsInstruct } from './base-vs-instruct.js';
import { baselines, baselinesTiming } from './baselines/experiment.js';
import { conditions } from './conditions/experiment.js';
import { decomposition } from './decomposition.js';
import type { Experiment } from './experiment.js';
import { failures } from './failures.js';
import { lambdaAblation } from './lambda-ablation.js';
import { latency } from './latency/experiment.js';
import { mainResults } from './main-results.js';
import { parallelVsSequential } from './parallel-vs-sequential.js';
import { realModelFresh, realModelOthers, realModelTiming } from './real-model/answering.js';
import { realModel } from './real-model/experiment.js';
import { realModelFacts } from './real-model/facts.js';
import { scale } from './scale/experiment.js';
import { timing } from './timing.js';
import { topK } from './top-k.js';
import { training } from './training/experiment.js';
import { TRAINING_TESTS } from './training/tests.js';
import { trajectories } from './trajectories.js';

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
  realModelFresh,
  realModelOthers,
  realModelFacts,
  conditions,
  ...TRAINING_TESTS.map(({ experiment }) => experiment),
  training,
];
