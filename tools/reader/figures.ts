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

/** Rows of the table: whose answers, of all seeds or of one. */
const ROWS: readonly { title: string; method: string; seed?: number }[] = [
  {
    title: 'first edition, warm-up, Search-R1’s prompt',
    method: 'first-edition:untrained:search-r1',
  },
  {
    title: 'first edition, ParallelSearch after RL, seed 2',
    method: 'first-edition:parallelsearch',
  },
  { title: 'warm-up, ParallelSearch’s prompt', method: 'untrained:parallel' },
  { title: 'warm-up, Search-R1’s prompt, which RL did not improve', method: 'untrained:search-r1' },
  { title: 'ParallelSearch after RL, two seeds', method: 'parallelsearch' },
  { title: 'its seed 2, `smollm2-parallelsearch`', method: 'parallelsearch', seed: 2 },
];
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
  const lines = ROWS.map(({ title, method, seed }) => {
    const isAsked = (result: QuestionResult): boolean =>
      result.method === method && (seed === undefined || result.seed === seed);
    return [title, ...figures(results.filter(isAsked))];
  });
  const head = ['', ...COLUMNS.map(({ title }) => title)];
  return [head, head.map(() => '---'), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

/** The figures of one method, averaged over its seeds. */
function figures(results: readonly QuestionResult[]): string[] {
  const table = scoreTable(results, [EM, FORMAT, DECOMPOSED, CALLS]);
  const { questions, runs } = table;
  const strata = groupStrata(questions.map(({ benchmark, subset }) => `${benchmark}/${subset}`));
  const bootstrap = createBootstrap(table, strata, { random: createRandom('reader') });
  return COLUMNS.map(({ measure, isCounted = () => true }) => {
    const chosen = questions.map((question) => Number(isCounted(question)));
    const number = chosen.filter(Boolean).length;
    const weights = Float64Array.from(chosen, (one) => one / number);
    const { value, low, high } = percentileInterval(
      bootstrap.estimator(runs[0], measure.metric)(weights),
    );
    return `${value.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`;
  });
}
