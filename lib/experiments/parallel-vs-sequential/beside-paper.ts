/**
 * What the paper's own tables give for its headline figures, recomputed, as rows with
 * ours beside them.
 */
import { sum } from 'd3-array';
import type { QuestionResult } from '../../evaluation/result.js';
import { matching, type PaperCell, type TidyContrast } from '../../evaluation/table.js';
import { paperMean, paperRows, paperTables } from '../paper.js';
import { INITIAL_MODELS } from '../runs.js';

const SUBSETS = ['parallelizable', 'sequential'];

/**
 * Fields of one model, or of none in particular: a mean over `all` is over both
 * backbones.
 */
const ofModel = (model: string): Partial<PaperCell> => (model === 'all' ? {} : { model });

/**
 * A mean of ParallelSearch over that of Search-R1: 69.6 % of the model calls on
 * parallelizable questions (the tables' "turns").
 */
export function paperRatio(fields: Partial<PaperCell>): number {
  const [ours, theirs] = ['parallelsearch', 'search-r1'].map((method) =>
    paperMean({ ...fields, method }),
  );
  return ours / theirs;
}

/**
 * How far ParallelSearch is ahead of Search-R1 in exact match, by one way of averaging.
 */
export interface PaperGain {
  /** `base`, `instruct`, or `all`: both. */
  model: string;
  countsOnce: 'data set' | 'question';
  /** Difference of the means, as a share. */
  difference: number;
  /** The same over Search-R1's mean. */
  relative: number;
}

/** Mean of Table 3 or 6 in which every question counts once, as Table 5 counts them. */
function meanOverQuestions(fields: Partial<PaperCell>): number {
  const rows = paperRows(fields).map(({ benchmark, subset, value }) => {
    const [{ questions }] = matching(paperTables().sizes, { benchmark, subset });
    return { value, questions };
  });
  return (
    sum(rows, ({ value, questions }) => value * questions) / sum(rows, ({ questions }) => questions)
  );
}

/**
 * The gain by every simple mean: backbones apart and together, data sets or questions
 * counting once.
 */
export const paperGains = (subset: string): PaperGain[] =>
  ['instruct', 'base', 'all'].flatMap((model) =>
    (['data set', 'question'] as const).map((countsOnce) => {
      const meanOf = countsOnce === 'question' ? meanOverQuestions : paperMean;
      const [ours, theirs] = ['parallelsearch', 'search-r1'].map((method) =>
        meanOf({ method, subset, metric: 'em', ...ofModel(model) }),
      );
      return { model, countsOnce, difference: ours - theirs, relative: (ours - theirs) / theirs };
    }),
  );

/**
 * The gains by every simple mean of Tables 3 and 6, in points and relative to Search-R1
 * (`gain`: 0.143 is 14.3 % more); ours are beside those in which a question counts once.
 * @param contrasts those of this world
 */
export const gainRows = (contrasts: readonly TidyContrast[]): object[] =>
  SUBSETS.flatMap((subset) =>
    paperGains(subset).flatMap(({ model, countsOnce, difference, relative }) => {
      const sides = { method: 'parallelsearch', against: 'search-r1', model };
      const cell = { ...sides, benchmark: 'all', subset, metric: 'em' };
      const ours = (kind: string, origin: number): object => {
        const [found] = countsOnce === 'question' ? matching(contrasts, { ...cell, kind }) : [];
        if (!found) return {};
        return { value: found.value - origin, low: found.low - origin, high: found.high - origin };
      };
      const row = { subset, model, counts_once: countsOnce, metric: 'em' };
      return [
        { ...row, kind: 'difference', paper: difference, ...ours('difference', 0) },
        { ...row, kind: 'gain', paper: relative, ...ours('ratio', 1) },
      ];
    }),
  );

/**
 * What ParallelSearch takes over what Search-R1 takes, by the means of Tables 3 and 6
 * over their data sets.
 */
export const paperCostRows = (): object[] =>
  SUBSETS.flatMap((subset) =>
    [...INITIAL_MODELS, 'all'].flatMap((model) =>
      ['model_calls', 'seconds'].map((metric) => ({
        subset,
        model,
        metric,
        paper: paperRatio({ subset, metric, ...ofModel(model) }),
      })),
    ),
  );

/**
 * Table 5: how many questions of each kind a data set has, in the paper and here; null
 * where there are none of its style.
 */
export function sizeRows(answers: readonly QuestionResult[]): object[] {
  const present = new Set(answers.map(({ benchmark }) => benchmark));
  return paperTables().sizes.map(({ benchmark, subset, questions: paper }) => {
    const ids = new Set(
      matching(answers, { benchmark, subset }).map(({ questionId }) => questionId),
    );
    return { benchmark, subset, paper, here: present.has(benchmark) ? ids.size : null };
  });
}
