/**
 * Claims of the paper that parallelizable and sequential questions decide, each kind by
 * itself.
 */
import type { PaperCell } from '../../evaluation/table.js';
import { pointsText } from '../../report/text.js';
import { paperMean } from '../paper.js';
import { INITIAL_MODELS } from '../runs.js';
import {
  aheadFromEachModel,
  fromEachModel,
  OURS,
  partsWhere,
  type Numbers,
  type Part,
  type PaperClaim,
} from '../verdicts.js';
import { paperGains, paperRatio } from './beside-paper.js';

/** Search-R1's weights under ParallelSearch's prompt. */
const PROMPT = 'search-r1-parallel-prompt';

/**
 * Model calls or seconds of ParallelSearch over those of Search-R1 on parallelizable
 * questions, below a limit.
 */
const costRatio = ({ contrasts }: Numbers, metric: string, threshold: number): Part[] =>
  fromEachModel((model, of) => {
    const sides = { ...OURS, against: 'search-r1', model };
    const cell = { ...sides, subset: 'parallelizable', metric, kind: 'ratio' };
    return partsWhere(contrasts, cell, {
      of: `${of}, ratio`,
      unit: 'number',
      side: 'below',
      threshold,
    });
  });

/** The same in the means of Table 3. */
const paperCost = (metric: string): number => paperRatio({ subset: 'parallelizable', metric });

const percent = (ratio: number): string => `${(100 * ratio).toFixed(1)} %`;

/**
 * Gains of a kind of question by the table's plain means: `instruct +12.7, base +3.4,
 * both +8.1 points`.
 */
function gainsText(subset: string): string {
  const gains = paperGains(subset).filter(({ countsOnce }) => countsOnce === 'data set');
  const texts = gains.map(
    (g) => `${g.model === 'all' ? 'both' : g.model} ${pointsText(g.difference)}`,
  );
  return `${texts.join(', ')} points`;
}

/**
 * Table 3's figure of a method on parallelizable questions, mean over its data sets or of
 * one.
 */
const inTable3 = (fields: Partial<PaperCell>): number =>
  paperMean({ subset: 'parallelizable', ...fields });

/** Something of each backbone, such as `base 61.3 %, instruct 80.2 %`. */
const byModel = (text: (model: string) => string): string =>
  INITIAL_MODELS.map((model) => `${model} ${text(model)}`).join(', ');

/** By how much ParallelSearch answers more than another method, in points. */
const aheadText = (against: string, fields: Partial<PaperCell>): string => {
  const cell = { metric: 'em', ...fields };
  const theirs = inTable3({ ...cell, method: against });
  return pointsText(inTable3({ ...cell, method: 'parallelsearch' }) - theirs);
};

export const parallelVsSequentialClaims: readonly PaperClaim[] = [
  {
    id: 'parallel-em',
    claim: 'Answers more parallelizable questions than Search-R1',
    paper: '+12.7 %',
    tables: () => `${gainsText('parallelizable')} (plain means of Table 3)`,
    evidence: {
      cell: 'gain-parallelizable',
      rule: 'Difference to Search-R1 on parallelizable questions above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, { against: 'search-r1', subset: 'parallelizable' }),
    },
  },
  {
    id: 'calls',
    claim: 'Needs fewer model calls than Search-R1 on parallelizable questions',
    paper: '69.6 %',
    tables: () => `${percent(paperCost('model_calls'))} (means of Table 3)`,
    evidence: {
      cell: 'contrast-search-r1',
      rule: 'Ratio below that of the paper’s own table, from each model and from both',
      parts: (numbers) => costRatio(numbers, 'model_calls', paperCost('model_calls')),
    },
  },
  {
    id: 'seconds',
    claim: 'Is faster than Search-R1 on parallelizable questions',
    paper: 'Table 3',
    tables: () => `${percent(paperCost('seconds'))} of the seconds (means of Table 3)`,
    evidence: {
      cell: 'contrast-search-r1',
      rule: 'Ratio of seconds a question, answered one at a time, below 1, from each model and from both',
      parts: (numbers) => costRatio(numbers, 'seconds', 1),
    },
  },
  {
    id: 'sequential-em',
    claim: 'Answers more sequential questions than Search-R1 as well',
    paper: 'Table 6',
    tables: () => `${gainsText('sequential')} (plain means of Table 6)`,
    evidence: {
      cell: 'gain-sequential',
      rule: 'Difference to Search-R1 on sequential questions above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, { against: 'search-r1', subset: 'sequential' }),
    },
  },
  {
    id: 'learns-to-decompose',
    claim: 'The rewards teach to decompose, more reliably than the prompt alone',
    paper: 'Table 3',
    tables: () => {
      const shares = (method: string): string =>
        byModel((model) => percent(inTable3({ method, model, metric: 'decomposition_ratio' })));
      return `decomposed: ${shares('parallelsearch')}; prompt alone: ${shares(PROMPT)}`;
    },
    evidence: {
      cell: 'contrast-prompt',
      rule: 'Difference in decomposition ratio on parallelizable questions to Search-R1 with the parallel prompt above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, {
          against: PROMPT,
          subset: 'parallelizable',
          metric: 'decomposition_ratio',
        }),
    },
  },
  {
    id: 'prompt-not-enough',
    claim: 'Training gains right answers that the parallel prompt alone does not',
    paper: 'Table 3',
    tables: () => `${byModel((model) => aheadText(PROMPT, { model }))} points (means of Table 3)`,
    evidence: {
      cell: 'contrast-prompt',
      rule: 'Difference in exact match on parallelizable questions to Search-R1 with the parallel prompt above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, { against: PROMPT, subset: 'parallelizable' }),
    },
  },
  {
    id: 'news',
    claim: 'Gains on a corpus of news articles (MultihopRAG)',
    paper: 'Tables 3 and 6',
    tables: () =>
      byModel((model) => {
        const points = aheadText('search-r1', { model, benchmark: 'MultihopRAG' });
        return `${points} points on parallelizable`;
      }),
    evidence: { untestable: 'The small world has no news articles.' },
  },
];
