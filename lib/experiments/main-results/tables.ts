/**
 * The tables of the main report. Levels of the paper and of this small world are shown side by side and never
 * compared; what is compared is the shape: the sign and the size of the gap between two methods.
 */
import type { Results } from '../../evaluation/load.js';
import { loadPaperTables, paperParallelCalls } from '../paper.js';
import type { TidyContrast, TidyRow } from '../../evaluation/table.js';
import { tableOf, type Table } from '../../report/frame.js';
import {
  benchmarksOf,
  benchmarkTitle,
  figureText,
  findContrast,
  findRow,
  intervalText,
  methodsOf,
  methodTitle,
  pointsIntervalText,
  pointsText,
  modelsOf,
  SUBSET_TITLES,
} from '../../report/select.js';

type Record_ = Record<string, string>;

/** Table 2: exact match by benchmark and method from one model, the paper's figure beside ours with its interval. */
export function mainTable({ tidy }: Results, model: string): Table {
  const records = [...benchmarksOf(tidy), 'average', 'all'].map((benchmark) => {
    const record: Record_ = { Benchmark: benchmarkTitle(benchmark) };
    for (const method of methodsOf(tidy)) {
      const row = findRow(tidy, { method, model, benchmark, subset: 'all', metric: 'em' });
      if (isInTable2(method)) record[`${methodTitle(method)} · paper`] = figureText(row?.paper);
      record[`${methodTitle(method)} · here [95 %]`] = intervalText(row);
    }
    return record;
  });
  return tableOf(`Exact match from the ${model} model. The paper's level is of another scale.`, records);
}

/** Table 2 has no row for the parallel prompt alone. */
const isInTable2 = (method: string): boolean => method !== 'search-r1-parallel-prompt';

/**
 * The shape of Table 2: by how many points of exact match ParallelSearch is ahead of Search-R1, in the paper and here.
 * "Undecided" when the interval of the difference here holds 0.
 */
export function gapTable({ tidy }: Results): Table {
  const records = modelsOf(tidy).flatMap((model) =>
    [...benchmarksOf(tidy), 'average'].map((benchmark): Record_ => {
      const paper = paperGap({ tidy }, model, benchmark);
      const here = findContrast(tidy, {
        ...{ method: 'parallelsearch', against: 'search-r1', model, benchmark },
        ...{ subset: 'all', metric: 'em', kind: 'difference' },
      });
      return {
        Start: model,
        Benchmark: benchmarkTitle(benchmark),
        'paper, points': pointsText(paper),
        'here, points [95 %]': pointsIntervalText(here),
        'same direction': direction(paper, here),
      };
    }),
  );
  return tableOf('ParallelSearch minus Search-R1 in exact match, in points: the shape of Table 2.', records);
}

/** The paper's own gap between ParallelSearch and Search-R1, or null where it prints none. */
export function paperGap({ tidy }: Pick<Results, 'tidy'>, model: string, benchmark: string): number | null {
  const cell = { model, benchmark, subset: 'all', metric: 'em' } as const;
  const ours = findRow(tidy, { ...cell, method: 'parallelsearch' })?.paper ?? null;
  const theirs = findRow(tidy, { ...cell, method: 'search-r1' })?.paper ?? null;
  return ours === null || theirs === null ? null : ours - theirs;
}

function direction(paper: number | null, here: TidyContrast | undefined): string {
  if (paper === null || !here) return '–';
  if (here.low <= 0 && here.high >= 0) return 'undecided';
  return Math.sign(paper) === Math.sign(here.value) ? 'yes' : 'no';
}

const BEHAVIOUR: readonly [title: string, metric: TidyRow['metric']][] = [
  ['Exact match', 'em'],
  ['Search turns', 'turns'],
  ['Model calls', 'model_calls'],
  ['Decomposed', 'decomposition_ratio'],
  ['Coverage', 'coverage'],
  ['Calls / shortest path', 'critical_path_ratio'],
];

/** What the policies do on one kind of question: searches, calls, decompositions, by model and method. */
export function behaviourTable({ tidy }: Results, subset: string): Table {
  const cell = { benchmark: 'all', subset };
  const records = modelsOf(tidy).flatMap((model) =>
    methodsOf(tidy).flatMap((method) => {
      const row = (metric: TidyRow['metric']): TidyRow | undefined =>
        findRow(tidy, { ...cell, model, method, metric });
      if (!row('em')) return [];
      const record: Record_ = { Start: model, Method: methodTitle(method) };
      for (const [title, metric] of BEHAVIOUR) record[title] = intervalText(row(metric), 2);
      return [record];
    }),
  );
  const n = findRow(tidy, cell)?.n ?? 0;
  return tableOf(
    `Behaviour on ${n} questions (${SUBSET_TITLES[subset] ?? subset}), all benchmarks, means [95 %].`,
    records,
  );
}

/** Tables 3 and 6: the paper's two Wikipedia data sets on one kind of question, paper and here. */
export function subsetTable({ tidy }: Results, subset: 'parallelizable' | 'sequential'): Table {
  const records = ['hotpotqa', '2wikimultihopqa'].flatMap((benchmark) =>
    modelsOf(tidy).flatMap((model) =>
      methodsOf(tidy)
        .filter((method) => method !== 'r1')
        .map((method): Record_ => {
          const row = (metric: TidyRow['metric']): TidyRow | undefined =>
            findRow(tidy, { benchmark, subset, model, method, metric });
          const record: Record_ = {
            Benchmark: benchmarkTitle(benchmark),
            Start: model,
            Method: methodTitle(method),
          };
          for (const [title, metric] of [
            ['Exact match', 'em'],
            ['Decomposed', 'decomposition_ratio'],
            ['Model calls', 'model_calls'],
          ] as const) {
            record[`${title} · paper`] = figureText(row(metric)?.paper);
            record[`${title} · here [95 %]`] = intervalText(row(metric));
          }
          return record;
        }),
    ),
  );
  const number = subset === 'parallelizable' ? 3 : 6;
  return tableOf(
    `The paper's Table ${number}: ${subset} questions. The paper's level is of another scale.`,
    records,
  );
}

/** One thing that training was to achieve. */
export interface Claim {
  claim: string;
  /** The figure with its interval. */
  found: string;
  holds: boolean;
}

/**
 * What ParallelSearch was to achieve beside Search-R1, each with the figure that decides it: over all test questions,
 * every question counted once, and over both models where the claim compares two methods.
 */
export function claimsOf({ tidy }: Results): Claim[] {
  const pair = { method: 'parallelsearch', against: 'search-r1', benchmark: 'all', model: 'all' } as const;
  const em = findContrast(tidy, { ...pair, subset: 'all', metric: 'em', kind: 'difference' });
  const calls = findContrast(tidy, {
    ...pair,
    subset: 'parallelizable',
    metric: 'model_calls',
    kind: 'ratio',
  });
  const claims: Claim[] = [];
  if (em) {
    const claim = 'Answers as many questions as Search-R1 (interval of the difference above −1 point)';
    claims.push({ claim, found: `${pointsIntervalText(em)} points`, holds: em.low > -0.01 });
  }
  if (calls) {
    const claim = 'Needs at most 70 % of the model calls of Search-R1 on parallelizable questions';
    claims.push({ claim, found: `ratio ${intervalText(calls)}`, holds: calls.value <= 0.7 });
  }
  return [...claims, ...modelsOf(tidy).flatMap((model) => decompositionClaims({ tidy }, model))];
}

function decompositionClaims({ tidy }: Pick<Results, 'tidy'>, model: string): Claim[] {
  const cell = { method: 'parallelsearch', model, benchmark: 'all', metric: 'decomposition_ratio' } as const;
  const wanted = [
    [
      'parallelizable',
      `Decomposes at least 90 % of parallelizable questions (${model})`,
      (x: number) => x >= 0.9,
    ],
    ['sequential', `Decomposes at most 10 % of sequential questions (${model})`, (x: number) => x <= 0.1],
  ] as const;
  return wanted.flatMap(([subset, claim, isMet]) => {
    const row = findRow(tidy, { ...cell, subset });
    return row ? [{ claim, found: `share ${intervalText(row)}`, holds: isMet(row.value) }] : [];
  });
}

/** The claims as a table, each with a plain yes or no. */
export function claimsTable(results: Results): Table {
  const records = claimsOf(results).map(({ claim, found, holds }) => ({
    'ParallelSearch ...': claim,
    'Found [95 %]': found,
    Holds: holds ? 'yes' : 'no',
  }));
  return tableOf('What was to be seen, and what was found on all test questions.', records);
}

/** The claim of 69.6 % of the model calls: the ratio that Table 3 gives, and ours on parallelizable questions. */
export function callsTable({ tidy }: Results): Table {
  const paper = loadPaperTables();
  const ratio = paperParallelCalls(paper, 'parallelsearch') / paperParallelCalls(paper, 'search-r1');
  const pair = {
    method: 'parallelsearch',
    against: 'search-r1',
    benchmark: 'all',
    metric: 'model_calls',
  } as const;
  const records = [
    'parallelizable',
    'parallelizable_2_to_4',
    'parallelizable_5',
    'sequential',
    'single_hop',
    'hybrid',
    'all',
  ].flatMap((subset) => {
    const contrasts = [...modelsOf(tidy), 'all'].map(
      (model) => [model, findContrast(tidy, { ...pair, model, subset, kind: 'ratio' })] as const,
    );
    if (contrasts.every(([, contrast]) => !contrast)) return [];
    const record: Record_ = {
      Questions: SUBSET_TITLES[subset],
      paper: subset === 'parallelizable' ? figureText(ratio) : '–',
    };
    for (const [model, contrast] of contrasts) {
      record[`here · ${model === 'all' ? 'both models' : model} [95 %]`] = intervalText(contrast);
    }
    return [record];
  });
  return tableOf(
    "Model calls of ParallelSearch over those of Search-R1. The paper's is the ratio of the means of Table 3.",
    records,
  );
}
