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
const IN_PAPER = ['r1:trained', 'search-r1', 'otc', 'zerosearch', 'stepsearch'];
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

/**
 * Ahead of a method on average. @param remark what is to be known of the paper's figures
 * of it
 */
const aheadOf = (id: string, against: string, remark = ''): PaperClaim => ({
  id,
  claim: `Is ahead of ${methodTitle(against)} on average as well`,
  paper: 'Table 2',
  tables: () =>
    paperRows({ ...WHOLE, benchmark: 'average', method: against })
      .map(({ model, method, value }) => `${method} ${figureText(value)} (${model})`)
      .join(', ') + remark,
  evidence: {
    cell: 'average-table',
    rule: `Difference to ${methodTitle(against)} on the average of seven benchmarks above 0 from both models`,
    parts: (numbers) =>
      aheadFromEachModel(numbers, { against, benchmark: 'average', subset: 'all' }),
  },
});

export const baselineClaims: readonly PaperClaim[] = [
  aheadOf('other-baselines', 'otc'),
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
  aheadOf('zerosearch', 'zerosearch', '; its figures there are of another training set'),
];
