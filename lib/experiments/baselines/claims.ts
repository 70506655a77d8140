/** The paper's claims about the baselines of Table 2. */
import { min } from 'd3-array';
import { matching } from '../../evaluation/figures.js';
import { BENCHMARK_TITLES } from '../../evaluation/selections.js';
import type { ResultParts } from '../../report/result.js';
import { figureText } from '../../report/text.js';
import { valueTitle } from '../../report/titles.js';
import { methodTitle } from '../../training/methods.js';
import { INITIAL_MODELS } from '../../training/models.js';
import { aheadFromEachModel, partsAhead, type PaperClaim } from '../results/claims.js';
import { countCellsAhead, paperRows } from '../results/paper.js';
import type { Trainings } from './spread.js';

/** A method trained from fewer initial models gets no verdict. */
const LEAST_INITIAL_MODELS = 3;

/** The smallest number of initial models of a kind that a method was trained from. */
const countInitialModels = (method: string, trainings: readonly Trainings[]): number =>
  min(matching(trainings, { method }), ({ initial_models }) => initial_models) ?? 0;

/** Whether a method has enough trainings for a verdict. */
export const isRepeated = (method: string, trainings: readonly Trainings[]): boolean =>
  countInitialModels(method, trainings) >= LEAST_INITIAL_MODELS;

const readTrainings = ({ frames }: ResultParts): Trainings[] =>
  (frames?.trainings ?? []) as Trainings[];

/** Every cell of Table 2 for its baselines. */
const CELLS = INITIAL_MODELS.flatMap((model) =>
  Object.keys(BENCHMARK_TITLES).flatMap((benchmark) =>
    ['r1:trained', 'search-r1', 'otc', 'zerosearch', 'stepsearch'].map((against) => {
      return { model, benchmark, against };
    }),
  ),
);

const aheadOnAverage = (id: string, against: string, remark = ''): PaperClaim => ({
  id,
  claim: `Is ahead of ${methodTitle(against)} on average as well`,
  paper: 'Table 2',
  tables: () =>
    paperRows({ subset: 'all', metric: 'em', benchmark: 'average', method: against })
      .map(({ model, method, value }) => `${method} ${figureText(value)} (${model})`)
      .join(', ') + remark,
  cell: 'average-table',
  rule: `Difference to ${methodTitle(against)} on the average of seven benchmarks above 0 from both models`,
  parts: aheadFromEachModel({ against, benchmark: 'average', subset: 'all' }),
  findReason: (result) => {
    const trained = countInitialModels(against, readTrainings(result));
    return trained === 0 || trained >= LEAST_INITIAL_MODELS
      ? null
      : `trained from ${trained} initial model of each kind, where a verdict needs ${LEAST_INITIAL_MODELS}`;
  },
});

export const baselineClaims: readonly PaperClaim[] = [
  aheadOnAverage('other-baselines', 'otc'),
  {
    id: 'every-cell',
    claim: 'Is ahead of every baseline on every benchmark',
    paper: 'Table 2',
    tables: () => `ahead in ${countCellsAhead(CELLS)} of Table 2 that have a figure`,
    cell: 'cells-table',
    rule: `Difference above 0 in every cell of Table 2, to every baseline that is trained here from at least ${LEAST_INITIAL_MODELS} initial models`,
    parts: (result) => {
      const trainings = readTrainings(result);
      const cells = CELLS.filter(({ against }) => isRepeated(against, trainings));
      const gaps = cells.map((cell) => {
        const { against, benchmark, model } = cell;
        const label = `${methodTitle(against)}, ${valueTitle('benchmark', benchmark)} (${model})`;
        return [label, { ...cell, subset: 'all' }] as const;
      });
      return partsAhead(gaps)(result);
    },
  },
  aheadOnAverage('zerosearch', 'zerosearch', '; trained there on another data set'),
];
