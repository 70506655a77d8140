/** Synthetic results in the form that charts and tables take. */
import type { Results } from '../../lib/evaluation/load.js';
import { summariseResults } from '../../lib/evaluation/table.js';
import { syntheticCurves, syntheticResults } from '../evaluation/synthetic.js';

/** Small: a few questions of each kind, few resamples. */
export function syntheticSummary(): Results {
  const questions = syntheticResults({ perTemplate: 8, seeds: 2 });
  const provenance = { seeds: [1, 2], commit: '<0000000>', recorded: false };
  return {
    questions,
    curves: syntheticCurves(),
    tidy: summariseResults(questions, { resamples: 100, provenance }),
  };
}
