/** The result of the real model: its second edition, then its first. */
import { trainingRows, type CurvePoint } from '../../report/curves.js';
import type { SummaryOptions } from '../../evaluation/table.js';
import { count } from '../answers.js';
import type { ResultParts } from '../experiment.js';
import { compareEditions, DYNAMICS, type FreshRead } from './editions.js';
import { ABOUT, firstEdition, type RealRead } from './first-edition.js';

const DEV_METRICS = [
  'reward',
  'rewards/outcome',
  'decomposition_ratio/parallelizable',
  'model_calls',
];

/** What both editions did; curves are those of the second. */
export interface RealReads {
  first: RealRead;
  fresh: FreshRead;
  curves: CurvePoint[];
  /** On held-out training questions; step 0 is the model before RL. */
  dev: CurvePoint[];
}

export function realModelResult(
  { first, fresh, curves, dev }: RealReads,
  options: SummaryOptions = {},
): ResultParts {
  const second = compareEditions(fresh, options);
  const before = firstEdition(first, options);
  return {
    ...second,
    summary: `${fresh.numComputed.toLocaleString('en')} answers of ${ABOUT.model} to fresh questions, ${count(first.answers)} of the first edition to a test of its own.`,
    provenance: { ...second.provenance, firstEdition: before.provenance },
    card: { editions: '', decomposed: '' },
    frames: {
      ...second.frames,
      training: trainingRows(curves, DYNAMICS),
      dev: trainingRows(dev, DEV_METRICS),
      ...before.frames,
    },
  };
}
