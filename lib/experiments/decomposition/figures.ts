/** The report on decomposition against the verified dependency graphs, whether or not the answer is right. */
import { parseQuestions } from '../../data/flashrag.js';
import { readFileSync } from 'node:fs';
import { decompositionMeasures, parallelizingCurves } from './measures.js';
import { readEvaluation, type CurvePoint } from '../../evaluation/load.js';
import {
  countNames,
  NAME_GROUPS,
  nameMeasures,
  nameReader,
  omissionMeasures,
  type NameCount,
} from './names.js';
import { paperFigure } from '../paper.js';
import {
  summariseResults,
  type SummaryOptions,
  type TidyResults,
  type TidyRow,
} from '../../evaluation/table.js';
import { createTokenizer } from '../../text/tokenizer.js';
import { chartOf, SMALL_WORLD, titled, type Chart } from '../../report/chart.js';
import { valuesOf } from '../../report/charts.js';
import type { ReportResults } from '../../report/display.js';
import { tableOf, type Table } from '../../report/frame.js';
import {
  benchmarkTitle,
  figureText,
  findRow,
  intervalText,
  methodsOf,
  methodTitle,
  modelsOf,
  SUBSET_TITLES,
} from '../../report/select.js';
import { intervalLayers, methodSeries, MODEL_SORT } from '../../report/series.js';
import type { Claim } from '../main-results/tables.js';
import { trainingRows } from '../../report/training-rows.js';

export interface Decomposition extends ReportResults {
  figures: TidyResults;
  /** Training curves, with precision, recall and F1 of parallelizing. */
  curves: CurvePoint[];
  /** How often ParallelSearch left out each name of the parallelizable questions. */
  names: NameCount[];
}

/** What is shown over training. */
const DYNAMICS = [
  ...['parallelizing_precision', 'parallelizing_recall', 'parallelizing_f1'],
  ...['decomposition_ratio/parallelizable', 'decomposition_ratio/sequential', 'coverage/parallelizable'],
];

/**
 * Reads the main comparison's evaluation and measures it against the graphs.
 * @param questionFile the questions that were evaluated, with their graphs, and those of training (FlashRAG layout)
 * @param tokenizerFile the policies' `tokenizer.json`
 */
export function loadDecomposition(
  folder: string,
  questionFile: string,
  tokenizerFile: string,
  options: Omit<SummaryOptions, 'provenance'> = {},
): Decomposition {
  const { questions: answers, curves: recorded, provenance } = readEvaluation(folder);
  const questions = parseQuestions(readFileSync(questionFile, 'utf8'), questionFile);
  const tokenizer = createTokenizer(JSON.parse(readFileSync(tokenizerFile, 'utf8')) as object);
  const tokensOf = nameReader(questions, tokenizer);
  const measures = [
    ...decompositionMeasures(questions),
    ...omissionMeasures(questions),
    ...nameMeasures(questions, tokensOf),
  ];
  const figures = summariseResults(answers, {
    ...{ measures, provenance, paper: paperFigure },
    selects: ({ benchmark }) => benchmark !== 'average',
    ...options,
  });
  figures.provenance.headlines = headlines(figures);
  const curves = parallelizingCurves(recorded);
  const rows = [...figures.rows, ...trainingRows(curves, DYNAMICS)];
  const summary = `${answers.length.toLocaleString('en')} answers, each held against the dependency graph of its question.`;
  const ours = answers.filter(({ method }) => method === 'parallelsearch');
  const names = countNames(ours, questions, tokensOf);
  return { kind: 'results', summary, figures, curves, names, tidy: { ...figures, rows } };
}

/** The aims: F1 of parallelizing, and coverage. */
function headlines(figures: TidyResults): Claim[] {
  const wanted = [
    ['all', 'parallelizing_f1', 'F1 of parallelizing is at least 0.95'],
    ['parallelizable', 'coverage', 'Asks for at least 95 % of the sub-questions of parallelizable questions'],
  ] as const;
  return modelsOf(figures).flatMap((model) =>
    wanted.flatMap(([subset, metric, claim]) => {
      const row = findRow(figures, { method: 'parallelsearch', model, benchmark: 'all', subset, metric });
      return row
        ? [{ claim: `${claim} (${model})`, found: intervalText(row), holds: row.value >= 0.95 }]
        : [];
    }),
  );
}

type Columns = readonly (readonly [metric: string, title: string])[];
const searchingMethods = (figures: TidyResults): string[] =>
  methodsOf(figures).filter((method) => method !== 'r1');

/** A row for each method and model, with the figures of one kind of question. */
function methodTable(
  figures: TidyResults,
  { caption, subset, columns }: { caption: string; subset: string; columns: Columns },
): Table {
  const records = modelsOf(figures).flatMap((model) =>
    searchingMethods(figures).map((method) => {
      const cell = { benchmark: 'all', subset, model, method };
      const text = ([metric, title]: Columns[number]) =>
        [`${title} [95 %]`, intervalText(findRow(figures, { ...cell, metric }))] as const;
      return { Start: model, Method: methodTitle(method), ...Object.fromEntries(columns.map(text)) };
    }),
  );
  return tableOf(`Small world. ${caption}`, records);
}

/** Precision, recall and F1 of parallelizing: a question is decomposed or not, and parallelizable or not. */
export function parallelizingTable({ figures }: Decomposition): Table {
  const row = findRow(figures, { benchmark: 'all', subset: 'all', metric: 'parallelizing_f1' });
  return methodTable(figures, {
    caption: `Parallelizing against the graphs, ${row?.n ?? 0} questions without hybrids. A dash: nothing was decomposed.`,
    subset: 'all',
    columns: [
      ['parallelizing_precision', 'Precision'],
      ['parallelizing_recall', 'Recall'],
      ['parallelizing_f1', 'F1'],
    ],
  });
}

/** Names and size of a tidy row, also of one read from a file. */
interface RowSize {
  benchmark?: unknown;
  subset?: unknown;
  metric?: unknown;
  n?: unknown;
}

/** F1 of a policy that decomposes every question: what there is to beat. Null where the rows do not say how many there are. */
export function alwaysF1(rows: readonly (RowSize | Readonly<Record<string, unknown>>)[]): number | null {
  const size = (subset: string, metric: string): unknown =>
    rows.find((r) => r.benchmark === 'all' && r.subset === subset && r.metric === metric)?.n;
  const [all, parallel] = [size('all', 'parallelizing_f1'), size('parallelizable', 'coverage')];
  return typeof all === 'number' && typeof parallel === 'number' ? (2 * parallel) / (all + parallel) : null;
}

/** The sub-queries against the independent sub-questions, on one kind of parallelizable question. */
export function matchTable({ figures }: Decomposition, subset = 'parallelizable'): Table {
  return methodTable(figures, {
    caption: `Sub-queries against independent sub-questions: ${SUBSET_TITLES[subset] ?? subset}.`,
    subset,
    columns: [
      ['match_precision', 'Precision'],
      ['match_recall', 'Recall'],
      ['match_f1', 'F1'],
      ['coverage', 'Coverage'],
      ['asked_at_once', 'Asked at once'],
      ['complete_at_once', 'All at once'],
    ],
  });
}

/** Why sub-questions were left out, in questions that every method can ask one by one. */
export function omissionsTable({ figures }: Decomposition): Table {
  return methodTable(figures, {
    caption:
      'Sub-questions that were not asked, parallelizable questions of 2 to 4 entities: shares of them.',
    subset: 'parallelizable_2_to_4',
    columns: [
      ['omitted_misnamed', 'Under a name not in the question'],
      ['omitted_repeated', 'Another repeated in its place'],
      ['omitted_no_search', 'No search at all'],
      ['omitted_overlooked', 'Overlooked'],
    ],
  });
}

/** The share of names that a search held whole, by how well their tokens are known and by their length. */
export function namesTable({ figures }: Decomposition): Table {
  const cell = { benchmark: 'all', subset: 'parallelizable_2_to_4' };
  const methods = ['search-r1', 'parallelsearch'].filter((method) => methodsOf(figures).includes(method));
  const policies = methods.flatMap((method) => modelsOf(figures).map((model) => ({ method, model })));
  const records = NAME_GROUPS.flatMap(({ suffix, title }) => {
    const share = findRow(figures, { ...cell, ...policies[0], metric: `names_${suffix}` });
    if (!share) return [];
    const named = policies.map(({ method, model }) => [
      `${methodTitle(method)} · ${model} [95 %]`,
      intervalText(findRow(figures, { ...cell, method, model, metric: `named_${suffix}` })),
    ]);
    return [
      {
        ...{ Names: title, 'Share of names': figureText(share.value) },
        ...(Object.fromEntries(named) as Record<string, string>),
      },
    ];
  });
  return tableOf(
    'Small world. Names that a search held whole, of those in parallelizable questions of 2 to 4 entities.',
    records,
  );
}

/** The names that ParallelSearch left out most often, over both models and all seeds. */
export function missedNamesTable({ names }: Decomposition, numRows = 12): Table {
  const missed = names.filter((count) => count.missed > 0);
  const total = missed.reduce((sum, count) => sum + count.missed, 0);
  let rest = total;
  const half = missed.findIndex((count) => (rest -= count.missed) <= total / 2) + 1;
  const records = names.slice(0, numRows).map((count) => ({
    ...{ Name: count.name, 'Left out': count.missed, Answers: count.answers },
    ...{ Tokens: count.length, 'Rarest token, times in training questions': count.rarest },
  }));
  return tableOf(
    `Small world. Names that ParallelSearch left out most often: ${missed.length} of ${names.length} names were left out ` +
      (total > 0 ? `at least once, and ${half} of them make half of the ${total} omissions.` : 'at all.'),
    records,
  );
}

/** Decomposition by whether the answer is right, and the other way round, on one kind of question. */
export function rightWrongTable({ figures }: Decomposition, subset = 'parallelizable'): Table {
  return methodTable(figures, {
    caption: `Decomposition and right answers: ${SUBSET_TITLES[subset] ?? subset}.`,
    subset,
    columns: [
      ['decomposition_ratio_if_right', 'Decomposed · if right'],
      ['decomposition_ratio_if_wrong', 'Decomposed · if wrong'],
      ['coverage_if_right', 'Coverage · if right'],
      ['coverage_if_wrong', 'Coverage · if wrong'],
      ['em_if_decomposed', 'Exact match · if decomposed'],
      ['em_if_not_decomposed', 'Exact match · if not'],
    ],
  });
}

/** Hybrid questions: two chains side by side, whose first hops can be asked at once. */
export function hybridTable({ figures }: Decomposition): Table {
  const n = findRow(figures, { benchmark: 'all', subset: 'hybrid' })?.n ?? 0;
  return methodTable(figures, {
    caption: `${n} hybrid questions (bridge comparisons): first hops asked, answers, calls.`,
    subset: 'hybrid',
    columns: [
      ['decomposition_ratio', 'Decomposed'],
      ['coverage', 'First hops asked'],
      ['complete_at_once', 'All first hops at once'],
      ['em', 'Exact match'],
      ['model_calls', 'Model calls'],
    ],
  });
}

/** Questions that must not be parallelized, by benchmark. */
const WRONG_CELLS: readonly (readonly [benchmark: string, subset: string, title: string])[] = [
  ['hotpotqa', 'sequential', 'HotpotQA bridge'],
  ['2wikimultihopqa', 'sequential', '2Wiki inference, compositional'],
  ['musique', 'sequential', 'MuSiQue, 2 to 4 hops'],
  ['bamboogle', 'sequential', 'Bamboogle, 2 hops'],
  ['all', 'single_hop', 'single hop'],
];

/** Wrong parallelization: the share of sequential and single-hop questions that are decomposed. */
export function wrongTable({ figures }: Decomposition): Table {
  const records = WRONG_CELLS.flatMap(([benchmark, subset, title]) =>
    modelsOf(figures).flatMap((model) => {
      const row = (method: string): TidyRow | undefined =>
        findRow(figures, { benchmark, subset, model, method, metric: 'decomposition_ratio' });
      const methods = searchingMethods(figures);
      if (!methods.some(row)) return [];
      const shares = methods.map((method) => [`${methodTitle(method)} [95 %]`, intervalText(row(method))]);
      return [
        {
          ...{ Questions: title, n: String(methods.map(row).find(Boolean)?.n ?? 0), Start: model },
          ...(Object.fromEntries(shares) as Record<string, string>),
        },
      ];
    }),
  );
  return tableOf(
    'Small world. Wrong parallelization: share of questions decomposed that cannot be.',
    records,
  );
}

/** Share of questions that are decomposed, for each kind of question. */
export function decomposedChart({ figures }: Decomposition): Chart {
  const kinds = ['parallelizable_2_to_4', 'parallelizable_5', 'hybrid', 'sequential', 'single_hop'];
  const methods = searchingMethods(figures);
  const rows = figures.rows.filter(
    (r) =>
      r.benchmark === 'all' &&
      r.metric === 'decomposition_ratio' &&
      kinds.includes(r.subset) &&
      methods.includes(r.method),
  );
  const x = {
    ...{ field: 'subset', type: 'nominal', sort: kinds.map((kind) => SUBSET_TITLES[kind]) },
    ...{ title: 'Kind of question (by its graph)', axis: { labelAngle: -25 } },
  };
  const y = {
    ...{ type: 'quantitative', title: titled('Decomposed', 'share of questions') },
    scale: { domain: [0, 1] },
  };
  const ours = rows.filter(({ method }) => method === 'parallelsearch');
  const spoken = ours.map((r) => `${SUBSET_TITLES[r.subset]} ${figureText(r.value)} (${r.model})`);
  return chartOf({
    title: 'Decomposed questions by what their graph allows, with 95 % intervals',
    subtitle: SMALL_WORLD,
    alt: `Share of questions decomposed, by kind of question and method. ParallelSearch: ${spoken.join(', ')}.`,
    spec: {
      data: { values: valuesOf(rows) },
      facet: { column: { field: 'model', sort: MODEL_SORT } },
      spec: { width: { step: 17 }, height: 220, layer: intervalLayers(methodSeries(methods), x, y) },
    },
  });
}

/** Precision, recall and F1 of parallelizing where one benchmark has both kinds of question. */
export function benchmarkF1Table({ figures }: Decomposition): Table {
  const records = ['hotpotqa', '2wikimultihopqa', 'all'].flatMap((benchmark) =>
    modelsOf(figures).flatMap((model) =>
      searchingMethods(figures).map((method) => {
        const cell = { benchmark, subset: 'all', model, method };
        const text = (name: string): string =>
          intervalText(findRow(figures, { ...cell, metric: `parallelizing_${name}` }));
        return {
          ...{ Benchmark: benchmarkTitle(benchmark), Start: model, Method: methodTitle(method) },
          ...{
            'Precision [95 %]': text('precision'),
            'Recall [95 %]': text('recall'),
            'F1 [95 %]': text('f1'),
          },
        };
      }),
    ),
  );
  return tableOf('Small world. Parallelizing by benchmark, where one has both kinds of question.', records);
}
