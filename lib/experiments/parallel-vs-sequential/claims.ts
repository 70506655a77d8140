/** Claims of the paper that parallelizable and sequential questions decide, each kind by itself. */
import { pointsText } from '../../report/text.js';
import { aheadFromEachModel, OURS, paperPairs, partsWhere } from '../evidence.js';
import { BACKBONES, paperMethod, type PaperTables } from '../paper.js';
import { paperGains, paperRatio, type PaperMean } from '../paper-gains.js';
import { INITIAL_MODELS } from '../runs.js';
import type { Numbers, Part, PaperClaim } from '../verdicts.js';

/** Search-R1's weights under ParallelSearch's prompt. */
const PROMPT = 'search-r1-parallel-prompt';

/** Model calls or seconds of ParallelSearch over those of Search-R1 on parallelizable questions, below a limit. */
function costRatio({ contrasts }: Numbers, metric: string, threshold: number): Part[] {
  const sides = { ...OURS, against: 'search-r1', model: 'all' };
  const cell = { ...sides, subset: 'parallelizable', metric, kind: 'ratio' };
  return partsWhere(contrasts, cell, { of: 'ratio', unit: 'number', side: 'below', threshold });
}

/** The same in the means of Table 3. */
const paperCost = (paper: PaperTables, column: PaperMean['column']): number =>
  paperRatio(paper, { table: 'parallelizable', column, model: 'all' });

const percent = (ratio: number): string => `${(100 * ratio).toFixed(1)} %`;

/** Gains of the table by its plain means: `instruct +12.7, base +3.4, both +8.1 points`. */
function gainsText(paper: PaperTables, table: PaperMean['table']): string {
  const gains = paperGains(paper, table).filter(({ weighBy }) => weighBy === 'data sets');
  const texts = gains.map((g) => `${g.model === 'all' ? 'both' : g.model} ${pointsText(g.difference)}`);
  return `${texts.join(', ')} points`;
}

/** MultihopRAG in Table 3: exact match of ParallelSearch minus that of Search-R1. */
function newsGain({ table3_parallel: { rows, columns } }: PaperTables, model: string): number {
  const em = (method: string): number =>
    rows.find(
      (row) =>
        row.subset === 'MultihopRAG-par' &&
        row.backbone === BACKBONES[model] &&
        row.method === paperMethod(method),
    )?.values[columns.indexOf('em')] ?? NaN;
  return em('parallelsearch') - em('search-r1');
}

export const parallelVsSequentialClaims: readonly PaperClaim[] = [
  {
    id: 'parallel-em',
    claim: 'Answers more parallelizable questions than Search-R1',
    paper: '+12.7 %',
    tables: (paper) => `${gainsText(paper, 'parallelizable')} (plain means of Table 3)`,
    evidence: {
      cell: 'gain-parallelizable',
      rule: 'Difference to Search-R1 on parallelizable questions above 0 from both models',
      parts: (numbers) => aheadFromEachModel(numbers, { against: 'search-r1', subset: 'parallelizable' }),
    },
  },
  {
    id: 'calls',
    claim: 'Needs fewer model calls than Search-R1 on parallelizable questions',
    paper: '69.6 %',
    tables: (paper) => `${percent(paperCost(paper, 'turns'))} (means of Table 3)`,
    evidence: {
      cell: 'contrast-search-r1',
      rule: 'Ratio over both models below that of the paper’s own table',
      parts: (numbers, paper) => costRatio(numbers, 'model_calls', paperCost(paper, 'turns')),
    },
  },
  {
    id: 'seconds',
    claim: 'Is faster than Search-R1 on parallelizable questions',
    paper: 'Table 3',
    tables: (paper) => `${percent(paperCost(paper, 'inference_seconds'))} of the seconds (means of Table 3)`,
    evidence: {
      cell: 'contrast-search-r1',
      rule: 'Ratio of seconds a question, answered one at a time, over both models below 1',
      parts: (numbers) => costRatio(numbers, 'seconds', 1),
    },
  },
  {
    id: 'sequential-em',
    claim: 'Answers more sequential questions than Search-R1 as well',
    paper: 'Table 6',
    tables: (paper) => `${gainsText(paper, 'sequential')} (plain means of Table 6)`,
    evidence: {
      cell: 'gain-sequential',
      rule: 'Difference to Search-R1 on sequential questions above 0 from both models',
      parts: (numbers) => aheadFromEachModel(numbers, { against: 'search-r1', subset: 'sequential' }),
    },
  },
  {
    id: 'learns-to-decompose',
    claim: 'The rewards teach to decompose, more reliably than the prompt alone',
    paper: 'Table 3',
    tables: (paper) => {
      const mean = { table: 'parallelizable', column: 'decomposition_ratio_percent' } as const;
      const pairs = paperPairs(paper, mean, PROMPT);
      const ours = pairs.map((pair) => `${pair.model} ${pair.ours.toFixed(1)} %`);
      const theirs = pairs.map((pair) => `${pair.model} ${pair.theirs.toFixed(1)} %`);
      return `decomposed: ${ours.join(', ')}; prompt alone: ${theirs.join(', ')}`;
    },
    evidence: {
      cell: 'contrast-prompt',
      rule: 'Difference in decomposition ratio on parallelizable questions to Search-R1 with the parallel prompt above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, {
          ...{ against: PROMPT, subset: 'parallelizable', metric: 'decomposition_ratio' },
        }),
    },
  },
  {
    id: 'prompt-not-enough',
    claim: 'Training gains right answers that the parallel prompt alone does not',
    paper: 'Table 3',
    tables: (paper) => {
      const pairs = paperPairs(paper, { table: 'parallelizable', column: 'em' }, PROMPT);
      const gains = pairs.map(({ model, ours, theirs }) => `${model} ${pointsText(ours - theirs)}`);
      return `${gains.join(', ')} points (means of Table 3)`;
    },
    evidence: {
      cell: 'contrast-prompt',
      rule: 'Difference in exact match on parallelizable questions to Search-R1 with the parallel prompt above 0 from both models',
      parts: (numbers) => aheadFromEachModel(numbers, { against: PROMPT, subset: 'parallelizable' }),
    },
  },
  {
    id: 'news',
    claim: 'Gains on a corpus of news articles (MultihopRAG)',
    paper: 'Tables 3 and 6',
    tables: (paper) => {
      const gains = INITIAL_MODELS.map((model) => `${model} ${pointsText(newsGain(paper, model))} points`);
      return gains.map((gain) => `${gain} on parallelizable`).join(', ');
    },
    evidence: { untestable: 'The small world has no news articles.' },
  },
];
