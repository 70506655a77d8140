/** The experiments that notebooks read, by name. */
import type { Experiment } from './experiment.js';
import { latencyExperiment } from './latency.js';

export const EXPERIMENTS: Readonly<Record<string, Experiment>> = {
  latency: latencyExperiment,
};
