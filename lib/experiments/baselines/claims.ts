/** Claims of the paper that rest on other baselines than Search-R1. */
import { BENCHMARK_TITLES } from '../../evaluation/selections.js';
import { methodTitle } from '../../methods/index.js';
import { figureText } from '../../report/text.js';
import { titleOf } from '../../report/titles.js';
import { paperFigure, paperRows } from '../paper.js';
import { INITIAL_MODELS } from '../runs.js';
import { aheadFromEachModel, partsAhead, type PaperClaim } from '../verdicts.js';

const WHOLE = { subset: 'all', metric: 'em' };
/** Those of Table 2. */
const IN_PAPER = ['r1:trained', 'search-r1', 'otc', 'stepsearch'];
const BENCHMARKS = Object.keys(BENCHMARK_TITLES);

/** Every cell of Table 2 that has a figure of a baseline beside ParallelSearch's. */
const cells = INITIAL_MODELS.flatMap((model) =>
  BENCHMARKS.flatMap((benchmark) => IN_PAPER.map((against) => ({ model, benchmark, against }))),
);

function aheadInPaper(): string {
  const gaps = cells.flatMap(({ against, ...cell }) => {
    const [ours, theirs] = ['parallelsearch', against].map((method) =>
      paperFigure({ ...WHOLE, ...cell, method }),
    );
    return ours === null || theirs === null ? [] : [ours - theirs];
  });
  return `ahead in ${gaps.filter((gap) => gap > 0).length} of ${gaps.length} cells of Table 2 that have a figure`;
}

export const baselineClaims: readonly PaperClaim[] = [
  {
    id: 'other-baselines',
    claim: 'Is ahead of OTC on average as well',
    paper: 'Table 2',
    tables: () =>
      paperRows({ ...WHOLE, benchmark: 'average', method: 'otc' })
        .map(({ model, method, value }) => `${method} ${figureText(value)} (${model})`)
        .join(', '),
    evidence: {
      cell: 'average-table',
      rule: 'Difference to OTC on the average of seven benchmarks above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, { against: 'otc', benchmark: 'average', subset: 'all' }),
    },
  },
  {
    id: 'every-cell',
    claim: 'Is ahead of every baseline on every benchmark',
    paper: 'Table 2',
    tables: aheadInPaper,
    evidence: {
      cell: 'cells-table',
      rule: 'Difference above 0 in every cell of Table 2, to every baseline that is trained here',
      parts: (numbers) =>
        cells.flatMap(({ model, benchmark, against }) => {
          const of = `${methodTitle(against)}, ${titleOf('benchmark', benchmark)} (${model})`;
          return partsAhead(numbers, of, { model, benchmark, against, subset: 'all' });
        }),
    },
  },
  {
    id: 'zerosearch',
    claim: 'Is ahead of ZeroSearch on average as well',
    paper: 'Table 2',
    tables: () =>
      paperRows({ ...WHOLE, benchmark: 'average' })
        .filter(({ method }) => method === 'ZeroSearch')
        .map(({ model, value }) => `${figureText(value)} (${model})`)
        .join(', '),
    evidence: {
      untestable: 'ZeroSearch is not trained here; the paper’s figures of it are of another training set.',
    },
  },
];
