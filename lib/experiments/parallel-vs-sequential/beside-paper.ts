/** What the paper's own tables give for its headline figures, as rows with ours beside them. */
import type { QuestionResult } from '../../evaluation/result.js';
import type { TidyContrast } from '../../evaluation/table.js';
import { loadPaperTables } from '../paper.js';
import { paperGains, paperRatio, type PaperMean } from '../paper-gains.js';
import { INITIAL_MODELS } from '../runs.js';

const SUBSETS: readonly PaperMean['table'][] = ['parallelizable', 'sequential'];

/** How far ParallelSearch is ahead of Search-R1 in exact match, by one way of averaging. */
export interface GainRow {
  subset: string;
  model: string;
  /** What counts once in the paper's mean; in ours it is a question. */
  counts_once: 'data set' | 'question';
  metric: 'em';
  /** A `gain` is relative to Search-R1: 0.143 is 14.3 % more. */
  kind: 'difference' | 'gain';
  paper: number;
  value?: number;
  low?: number;
  high?: number;
}

/** The gains by every simple mean of Tables 3 and 6. @param contrasts those of this world */
export function gainRows(contrasts: readonly TidyContrast[]): GainRow[] {
  const paper = loadPaperTables();
  return SUBSETS.flatMap((subset) =>
    paperGains(paper, subset).flatMap(({ model, weighBy, difference, relative }): GainRow[] => {
      const sides = { method: 'parallelsearch', against: 'search-r1', model };
      const cell = { ...sides, benchmark: 'all', subset, metric: 'em' };
      const found = (kind: string): TidyContrast | undefined =>
        weighBy === 'questions' ? contrasts.find((contrast) => isOf(contrast, { ...cell, kind })) : undefined;
      const [ours, ratio] = [found('difference'), found('ratio')];
      const row = { subset, model, counts_once: COUNTED_ONCE[weighBy], metric: 'em' } as const;
      return [
        { ...row, kind: 'difference', paper: difference, ...(ours ? intervalOf(ours, 0) : {}) },
        { ...row, kind: 'gain', paper: relative, ...(ratio ? intervalOf(ratio, 1) : {}) },
      ];
    }),
  );
}
const COUNTED_ONCE = { 'data sets': 'data set', questions: 'question' } as const;

const isOf = (contrast: TidyContrast, cell: Readonly<Record<string, string>>): boolean =>
  Object.entries(cell).every(([name, value]) => contrast[name as keyof TidyContrast] === value);

const intervalOf = ({ value, low, high }: TidyContrast, origin: number) => ({
  ...{ value: value - origin, low: low - origin, high: high - origin },
});

/** What ParallelSearch takes over what Search-R1 takes, by the means of Tables 3 and 6 over their data sets. */
export function paperCostRows(): { subset: string; model: string; metric: string; paper: number }[] {
  const paper = loadPaperTables();
  return SUBSETS.flatMap((table) =>
    [...INITIAL_MODELS, 'all'].flatMap((model) => [
      {
        subset: table,
        model,
        metric: 'model_calls',
        paper: paperRatio(paper, { table, column: 'turns', model }),
      },
      {
        ...{ subset: table, model, metric: 'seconds' },
        paper: paperRatio(paper, { table, column: 'inference_seconds', model }),
      },
    ]),
  );
}

/** Our benchmark in the style of a data set. */
const BENCHMARKS: Readonly<Record<string, string>> = {
  HotpotQA: 'hotpotqa',
  '2WikiMultiHopQA': '2wikimultihopqa',
};

/** Table 5: how many questions of each kind a data set has, in the paper and here; null where there are none of its style. */
export function sizeRows(
  answers: readonly QuestionResult[],
): { benchmark: string; subset: string; paper: number; here: number | null }[] {
  return Object.entries(loadPaperTables().table5_subset_sizes).flatMap(([dataSet, { par, seq }]) => {
    const benchmark = BENCHMARKS[dataSet];
    const here = (subset: string): number | null => {
      const own = answers.filter((answer) => answer.benchmark === benchmark && answer.subset === subset);
      return benchmark ? new Set(own.map(({ questionId }) => questionId)).size : null;
    };
    return [
      { benchmark: benchmark ?? dataSet, subset: 'parallelizable', paper: par, here: here('parallelizable') },
      { benchmark: benchmark ?? dataSet, subset: 'sequential', paper: seq, here: here('sequential') },
    ];
  });
}
