/** Claims of the paper that the main comparison decides, or that this scale cannot. */
import { mean } from 'd3-array';
import { BENCHMARK_TITLES } from '../../evaluation/selections.js';
import { figureText, pointsText } from '../../report/text.js';
import { titleOf } from '../../report/titles.js';
import { paperFigure, paperMean, paperRows } from '../paper.js';
import { INITIAL_MODELS } from '../runs.js';
import { aheadFromEachModel, partsAhead, type PaperClaim } from '../verdicts.js';

const WHOLE = { subset: 'all', metric: 'em' };

/** Table 2: ParallelSearch's printed average minus the best printed average of another method, on one backbone. */
function averageGain(model: string): number {
  const average = { ...WHOLE, model, benchmark: 'average' };
  const ours = paperMean({ ...average, method: 'parallelsearch' });
  const others = paperRows(average).filter(({ method }) => method !== 'ParallelSearch');
  return ours - Math.max(...others.map(({ value }) => value));
}

/** Table 2, ParallelSearch minus Search-R1: one difference for each benchmark and backbone. */
const benchmarkGaps = (): number[] =>
  INITIAL_MODELS.flatMap((model) =>
    Object.keys(BENCHMARK_TITLES).flatMap((benchmark) => {
      const [ours, theirs] = ['parallelsearch', 'search-r1'].map((method) =>
        paperFigure({ ...WHOLE, method, model, benchmark }),
      );
      return ours === null || theirs === null ? [] : [ours - theirs];
    }),
  );

export const mainClaims: readonly PaperClaim[] = [
  {
    id: 'average-em',
    claim: 'Answers more questions than the best baseline, on the average of seven benchmarks',
    paper: '+2.9 %',
    tables: () => {
      const gains = INITIAL_MODELS.map(averageGain);
      const texts = INITIAL_MODELS.map((model, i) => `${model} ${pointsText(gains[i])}`);
      return `${texts.join(', ')}, mean ${pointsText((gains[0] + gains[1]) / 2)} points (printed averages of Table 2)`;
    },
    evidence: {
      cell: 'gap-table',
      rule: 'Difference to Search-R1, the strongest baseline that is trained here, above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, { against: 'search-r1', benchmark: 'average', subset: 'all' }),
    },
  },
  {
    id: 'every-benchmark',
    claim: 'Is ahead of Search-R1 on the single benchmarks, not only on average',
    paper: 'Table 2',
    tables: () => {
      const gaps = benchmarkGaps();
      return `ahead in ${gaps.filter((gap) => gap > 0).length} of ${gaps.length} cells of Table 2`;
    },
    evidence: {
      cell: 'gap-table',
      rule: 'Difference above 0 on each of the seven benchmarks from both models',
      parts: (numbers) =>
        INITIAL_MODELS.flatMap((model) =>
          Object.keys(BENCHMARK_TITLES).flatMap((benchmark) => {
            const of = `${titleOf('benchmark', benchmark)} (${model})`;
            return partsAhead(numbers, of, { against: 'search-r1', model, benchmark, subset: 'all' });
          }),
        ),
    },
  },
  {
    id: 'other-baselines',
    claim: 'Is ahead of OTC and ZeroSearch on average as well',
    paper: 'Table 2',
    tables: () =>
      paperRows({ ...WHOLE, benchmark: 'average' })
        .filter(({ method }) => ['OTC', 'ZeroSearch'].includes(method))
        .map(({ model, method, value }) => `${method} ${figureText(value)} (${model})`)
        .join(', '),
    evidence: {
      untestable: 'These baselines are not trained here; ZeroSearch and StepSearch use other training sets.',
    },
  },
  {
    id: 'level',
    claim: 'Reaches this level of exact match with a 7B model over Wikipedia',
    paper: '0.458 (base), 0.425 (instruct)',
    tables: () => {
      const means = INITIAL_MODELS.toReversed().map((model) => {
        const columns = paperRows({ ...WHOLE, method: 'parallelsearch', model });
        const benchmarks = columns.filter(({ benchmark }) => benchmark !== 'average');
        return `${figureText(
          mean(benchmarks, ({ value }) => value),
          4,
        )} (${model})`;
      });
      return `${means.join(', ')} as means of the seven columns`;
    },
    evidence: { untestable: 'Levels of a small world and a small transformer say nothing about it.' },
  },
];
