/** Every claim of the paper, with what its own tables give and where this project looks for it. */
import { BENCHMARK_TITLES } from '../evaluation/metrics.js';
import { BACKBONES, paperMethod, paperParallelCalls, type PaperTables } from './paper.js';
import { paperAverageGain, paperGains, paperMean, type PaperMean } from './paper-gains.js';
import { alwaysF1 } from './decomposition/figures.js';
import { benchmarkTitle, figureText, pointsText } from '../report/select.js';
import type { Numbers, Part, PaperClaim } from './verdicts.js';

type Fields = Readonly<Record<string, unknown>>;
const MODELS = ['base', 'instruct'];

/** The figures among `items` with the given fields, as parts of a claim. */
function partsWhere(items: Numbers['rows'], fields: Fields, part: Omit<Part, 'found'>): Part[] {
  const matching = items.filter((item) =>
    Object.entries(fields).every(([key, value]) => item[key] === value),
  );
  return matching.map(({ value, low, high }) => ({ ...part, found: { value, low, high } }));
}

const OURS = { method: 'parallelsearch', benchmark: 'all' };
const AHEAD = { unit: 'points', side: 'above', threshold: 0 } as const;
const DIFFERENCE = { metric: 'em', kind: 'difference' };

/** ParallelSearch minus another method from each model, above 0; none unless every model is there. */
function aheadFromEachModel({ contrasts }: Numbers, fields: Fields): Part[] {
  const parts = MODELS.map((model) =>
    partsWhere(contrasts, { ...OURS, ...DIFFERENCE, model, ...fields }, { of: model, ...AHEAD }),
  );
  return parts.every((part) => part.length === 1) ? parts.flat() : [];
}

/** Model calls or seconds of ParallelSearch over those of Search-R1 on parallelizable questions, below a limit. */
function costRatio({ contrasts }: Numbers, metric: string, threshold: number): Part[] {
  const cell = {
    ...OURS,
    against: 'search-r1',
    model: 'all',
    subset: 'parallelizable',
    metric,
    kind: 'ratio',
  };
  return partsWhere(contrasts, cell, { of: 'ratio', unit: 'number', side: 'below', threshold });
}

/** ParallelSearch over another method in a mean of Table 3 or 6. */
function paperRatio(paper: PaperTables, mean: Omit<PaperMean, 'method'>, against = 'search-r1'): number {
  const [ours, theirs] = ['parallelsearch', against].map((method) => paperMean(paper, { ...mean, method }));
  return ours / theirs;
}

const callsRatio = (paper: PaperTables): number =>
  paperParallelCalls(paper, 'parallelsearch') / paperParallelCalls(paper, 'search-r1');

/** Gains of the table by its plain means: `instruct +12.7, base +3.4, both +8.1 points`. */
function gainsText(paper: PaperTables, table: PaperMean['table']): string {
  const gains = paperGains(paper, table).filter(({ weighBy }) => weighBy === 'data sets');
  const texts = gains.map((g) => `${g.model === 'all' ? 'both' : g.model} ${pointsText(g.difference)}`);
  return `${texts.join(', ')} points`;
}

/** Table 2, ParallelSearch minus Search-R1: one difference for each benchmark and backbone. */
function benchmarkGaps({ table2_main_em: { rows } }: PaperTables): number[] {
  return MODELS.flatMap((model) => {
    const em = (method: string): (number | null)[] =>
      rows.find((row) => row.backbone === BACKBONES[model] && row.method === paperMethod(method))?.em ?? [];
    const theirs = em('search-r1');
    return em('parallelsearch').flatMap((ours, i) => {
      const other = theirs[i];
      return ours === null || other === null ? [] : [ours - other];
    });
  });
}

const shares = (paper: PaperTables, method: string): string => {
  const mean = (model: string): number =>
    paperMean(paper, { table: 'parallelizable', column: 'decomposition_ratio_percent', method, model });
  return MODELS.map((model) => `${model} ${mean(model).toFixed(1)} %`).join(', ');
};

/** The claims, in the order in which the paper makes them. */
export const PAPER_CLAIMS: readonly PaperClaim[] = [
  {
    id: 'average-em',
    claim: 'Answers more questions than the best baseline, on the average of seven benchmarks',
    paper: '+2.9 %',
    tables: (paper) => {
      const gains = MODELS.map((model) => paperAverageGain(paper, model));
      const texts = MODELS.map((model, i) => `${model} ${pointsText(gains[i])}`);
      return `${texts.join(', ')}, mean ${pointsText((gains[0] + gains[1]) / 2)} points (printed averages of Table 2)`;
    },
    evidence: {
      ...{ report: 'main-results', cell: 'gap-table' },
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
      ...{ report: 'main-results', cell: 'gap-table' },
      rule: 'Difference above 0 on each of the seven benchmarks from both models',
      parts: ({ contrasts }) =>
        MODELS.flatMap((model) =>
          Object.keys(BENCHMARK_TITLES).flatMap((benchmark) => {
            const cell = { ...OURS, ...DIFFERENCE, against: 'search-r1', model, benchmark, subset: 'all' };
            return partsWhere(contrasts, cell, { of: `${benchmarkTitle(benchmark)} (${model})`, ...AHEAD });
          }),
        ),
    },
  },
  {
    id: 'parallel-em',
    claim: 'Answers more parallelizable questions than Search-R1',
    paper: '+12.7 %',
    tables: (paper) => `${gainsText(paper, 'parallelizable')} (plain means of Table 3)`,
    evidence: {
      ...{ report: 'parallel-vs-sequential', cell: 'gain-parallelizable' },
      rule: 'Difference to Search-R1 on parallelizable questions above 0 from both models',
      parts: (numbers) => aheadFromEachModel(numbers, { against: 'search-r1', subset: 'parallelizable' }),
    },
  },
  {
    id: 'calls',
    claim: 'Needs fewer model calls than Search-R1 on parallelizable questions',
    paper: '69.6 %',
    tables: (paper) => `${(100 * callsRatio(paper)).toFixed(1)} % (means of Table 3)`,
    evidence: {
      ...{ report: 'parallel-vs-sequential', cell: 'contrast-search-r1' },
      rule: 'Ratio over both models below that of the paper’s own table',
      parts: (numbers, paper) => costRatio(numbers, 'model_calls', callsRatio(paper)),
    },
  },
  {
    id: 'seconds',
    claim: 'Is faster than Search-R1 on parallelizable questions',
    paper: 'Table 3',
    tables: (paper) => {
      const ratio = paperRatio(paper, { table: 'parallelizable', column: 'inference_seconds', model: 'all' });
      return `${(100 * ratio).toFixed(1)} % of the seconds (means of Table 3)`;
    },
    evidence: {
      ...{ report: 'parallel-vs-sequential', cell: 'contrast-search-r1' },
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
      ...{ report: 'parallel-vs-sequential', cell: 'gain-sequential' },
      rule: 'Difference to Search-R1 on sequential questions above 0 from both models',
      parts: (numbers) => aheadFromEachModel(numbers, { against: 'search-r1', subset: 'sequential' }),
    },
  },
  {
    id: 'learns-to-decompose',
    claim: 'The rewards teach to decompose, more reliably than the prompt alone',
    paper: 'Table 3',
    tables: (paper) =>
      `decomposed: ${shares(paper, 'parallelsearch')}; prompt alone: ${shares(paper, 'search-r1-parallel-prompt')}`,
    evidence: {
      ...{ report: 'parallel-vs-sequential', cell: 'contrast-prompt' },
      rule: 'Difference in decomposition ratio on parallelizable questions to Search-R1 with the parallel prompt above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, {
          ...{ against: 'search-r1-parallel-prompt', subset: 'parallelizable' },
          metric: 'decomposition_ratio',
        }),
    },
  },
  {
    id: 'prompt-not-enough',
    claim: 'Training gains right answers that the parallel prompt alone does not',
    paper: 'Table 3',
    tables: (paper) => {
      const gain = (model: string): number => {
        const em = (method: string) =>
          paperMean(paper, { table: 'parallelizable', column: 'em', method, model });
        return em('parallelsearch') - em('search-r1-parallel-prompt');
      };
      return `${MODELS.map((model) => `${model} ${pointsText(gain(model))}`).join(', ')} points (means of Table 3)`;
    },
    evidence: {
      ...{ report: 'parallel-vs-sequential', cell: 'contrast-prompt' },
      rule: 'Difference in exact match on parallelizable questions to Search-R1 with the parallel prompt above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, { against: 'search-r1-parallel-prompt', subset: 'parallelizable' }),
    },
  },
  {
    id: 'recognises',
    claim: 'Recognises which questions are parallelizable',
    paper: 'stated, no figure',
    tables: () => 'nothing: decomposition is counted on parallelizable questions only',
    evidence: {
      ...{ report: 'decomposition', cell: 'parallelizing-table' },
      rule: 'F1 against the dependency graphs from both models above that of decomposing every question',
      parts: ({ rows }) => {
        const always = alwaysF1(rows);
        if (always === null) return [];
        return MODELS.flatMap((model) =>
          partsWhere(
            rows,
            { ...OURS, model, subset: 'all', metric: 'parallelizing_f1' },
            {
              of: `F1 (${model}; always: ${figureText(always)})`,
              unit: 'number',
              side: 'above',
              threshold: always,
            },
          ),
        );
      },
    },
  },
  {
    id: 'base-over-instruct',
    claim: 'The base model ends above the instruct model',
    paper: '+3.3',
    tables: ({ table2_main_em: { rows } }) => {
      const [base, instruct] = MODELS.map(
        (model) =>
          rows.find((r) => r.backbone === BACKBONES[model] && r.method === paperMethod('parallelsearch'))
            ?.avg ?? NaN,
      );
      return `${pointsText(base - instruct)} points (printed averages of Table 2)`;
    },
    evidence: {
      ...{ report: 'base-vs-instruct', cell: 'gap-table' },
      rule: 'Base minus instruct of ParallelSearch, average of the benchmarks, above 0',
      parts: ({ contrasts }) => {
        const sides = { against: 'parallelsearch', model: 'base', against_model: 'instruct' };
        const cell = { ...OURS, ...sides, ...DIFFERENCE, benchmark: 'average', subset: 'all' };
        return partsWhere(contrasts, cell, { of: '', ...AHEAD });
      },
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
    id: 'news',
    claim: 'Gains on a corpus of news articles (MultihopRAG)',
    paper: 'Tables 3 and 6',
    tables: ({ table3_parallel: { rows, columns } }) =>
      MODELS.map((model) => {
        const em = (method: string): number =>
          rows.find(
            (r) =>
              r.subset === 'MultihopRAG-par' &&
              r.backbone === BACKBONES[model] &&
              r.method === paperMethod(method),
          )?.values[columns.indexOf('em')] ?? NaN;
        return `${model} ${pointsText(em('parallelsearch') - em('search-r1'))} points on parallelizable`;
      }).join(', '),
    evidence: { untestable: 'The small world has no news articles.' },
  },
  {
    id: 'level',
    claim: 'Reaches this level of exact match with a 7B model over Wikipedia',
    paper: '0.458 (base), 0.425 (instruct)',
    tables: ({ table2_main_em: { rows } }) =>
      rows
        .filter(({ method }) => method === paperMethod('parallelsearch'))
        .map(({ em, backbone }) => {
          const mean = em.reduce<number>((sum, x) => sum + (x ?? NaN), 0) / em.length;
          return `${figureText(mean, 4)} (${backbone.split('-').at(-1)!.toLowerCase()})`;
        })
        .join(', ') + ' as means of the seven columns',
    evidence: { untestable: 'Levels of a small world and a small transformer say nothing about it.' },
  },
];
