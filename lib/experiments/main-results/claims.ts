/** Claims of the paper that the main comparison decides, or that this scale cannot. */
import { BENCHMARK_TITLES } from '../../evaluation/metrics.js';
import { figureText, pointsText } from '../../report/text.js';
import { titleOf } from '../../report/titles.js';
import { AHEAD, aheadFromEachModel, EM_DIFFERENCE, OURS, partsWhere, table2Row } from '../evidence.js';
import type { PaperTables } from '../paper.js';
import { paperAverageGain } from '../paper-gains.js';
import { INITIAL_MODELS } from '../runs.js';
import type { PaperClaim } from '../verdicts.js';

/** Table 2, ParallelSearch minus Search-R1: one difference for each benchmark and backbone. */
function benchmarkGaps(paper: PaperTables): number[] {
  return INITIAL_MODELS.flatMap((model) => {
    const em = (method: string): (number | null)[] => table2Row(paper, method, model)?.em ?? [];
    const theirs = em('search-r1');
    return em('parallelsearch').flatMap((ours, i) => {
      const other = theirs[i];
      return ours === null || other === null ? [] : [ours - other];
    });
  });
}

export const mainClaims: readonly PaperClaim[] = [
  {
    id: 'average-em',
    claim: 'Answers more questions than the best baseline, on the average of seven benchmarks',
    paper: '+2.9 %',
    tables: (paper) => {
      const gains = INITIAL_MODELS.map((model) => paperAverageGain(paper, model));
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
    tables: (paper) => {
      const gaps = benchmarkGaps(paper);
      return `ahead in ${gaps.filter((gap) => gap > 0).length} of ${gaps.length} cells of Table 2`;
    },
    evidence: {
      cell: 'gap-table',
      rule: 'Difference above 0 on each of the seven benchmarks from both models',
      parts: ({ contrasts }) =>
        INITIAL_MODELS.flatMap((model) =>
          Object.keys(BENCHMARK_TITLES).flatMap((benchmark) => {
            const cell = { ...OURS, ...EM_DIFFERENCE, against: 'search-r1', model, benchmark, subset: 'all' };
            const of = `${titleOf('benchmark', benchmark)} (${model})`;
            return partsWhere(contrasts, cell, { of, ...AHEAD });
          }),
        ),
    },
  },
  {
    id: 'other-baselines',
    claim: 'Is ahead of OTC and ZeroSearch on average as well',
    paper: 'Table 2',
    tables: ({ table2_main_em: { rows } }) => {
      const averages = rows.filter(
        ({ method, avg }) => ['OTC', 'ZeroSearch'].includes(method) && avg !== null,
      );
      return averages
        .map(({ backbone, method, avg }) => `${method} ${figureText(avg)} (${backbone.split('-').at(-1)})`)
        .join(', ');
    },
    evidence: {
      untestable: 'These baselines are not trained here; ZeroSearch and StepSearch use other training sets.',
    },
  },
  {
    id: 'level',
    claim: 'Reaches this level of exact match with a 7B model over Wikipedia',
    paper: '0.458 (base), 0.425 (instruct)',
    tables: (paper) => {
      const means = paper.table2_main_em.rows
        .filter(({ method }) => method === 'ParallelSearch')
        .map(({ em, backbone }) => {
          const mean = em.reduce<number>((sum, x) => sum + (x ?? NaN), 0) / em.length;
          return `${figureText(mean, 4)} (${backbone.split('-').at(-1)!.toLowerCase()})`;
        });
      return `${means.join(', ')} as means of the seven columns`;
    },
    evidence: { untestable: 'Levels of a small world and a small transformer say nothing about it.' },
  },
];
