/** What the second language model does on fresh questions, from its recorded answers. */
import { join } from 'node:path';
import {
  createBootstrap,
  groupStrata,
  percentileInterval,
  scoreTable,
} from '../../lib/evaluation/bootstrap.js';
import { mainMeasure, type Measure } from '../../lib/evaluation/metrics.js';
import { parseMeasurement, type QuestionResult } from '../../lib/evaluation/result.js';
import { readJsonLines } from '../../lib/io/files.js';
import { READER } from '../../lib/policy/trained-models.js';
import { createRandom } from '../../lib/random.js';

/** Rows of the table, by the method that answered. */
const ROWS: Readonly<Record<string, string>> = {
  'untrained:parallel': 'warm-up, ParallelSearch’s prompt',
  'untrained:search-r1': 'warm-up, Search-R1’s prompt, which no RL step improved',
  parallelsearch: 'ParallelSearch, after RL',
};
const isOf =
  (subset: string) =>
  (question: { subset: string }): boolean =>
    question.subset === subset;
const FORMAT: Measure = { metric: 'format', numerator: ({ formatOk }) => Number(formatOk) };
const [EM, DECOMPOSED, CALLS] = (['em', 'decomposition_ratio', 'model_calls'] as const).map(
  mainMeasure,
);
const COLUMNS: readonly {
  title: string;
  measure: Measure;
  isCounted?: (question: { subset: string }) => boolean;
}[] = [
  { title: 'exact match', measure: EM },
  { title: 'well formed', measure: FORMAT },
  { title: 'comparisons decomposed', measure: DECOMPOSED, isCounted: isOf('parallelizable') },
  { title: 'chains decomposed', measure: DECOMPOSED, isCounted: isOf('sequential') },
  { title: 'model calls per comparison', measure: CALLS, isCounted: isOf('parallelizable') },
];

/** The table of `docs/real-models.md` in Markdown, with 95 % intervals over questions. */
export async function readerTable(folder = READER): Promise<string> {
  const file = join(folder, 'results.jsonl');
  const results: QuestionResult[] = [];
  for await (const line of readJsonLines(file, parseMeasurement, `results in ${file}`))
    results.push(line as QuestionResult);
  const table = scoreTable(results, [EM, FORMAT, DECOMPOSED, CALLS]);
  const strata = groupStrata(
    table.questions.map(({ benchmark, subset }) => `${benchmark}/${subset}`),
  );
  const bootstrap = createBootstrap(table, strata, { random: createRandom('reader') });
  const figure = (
    method: string,
    { measure, isCounted = () => true }: (typeof COLUMNS)[0],
  ): string => {
    const chosen = table.questions.map((question) => Number(isCounted(question)));
    const number = chosen.filter(Boolean).length;
    const weights = Float64Array.from(chosen, (one) => one / number);
    const { model } = table.runs[0];
    const estimate = bootstrap.estimator({ method, model }, measure.metric)(weights);
    const { value, low, high } = percentileInterval(estimate);
    return `${value.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`;
  };
  const lines = Object.entries(ROWS).map(([method, title]) => [
    title,
    ...COLUMNS.map((column) => figure(method, column)),
  ]);
  const head = ['', ...COLUMNS.map(({ title }) => title)];
  return [head, head.map(() => '---'), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}
