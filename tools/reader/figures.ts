/** What the second language model does on fresh questions, from its recorded answers. */
import { join } from 'node:path';
import { z } from 'zod';
import {
  contrastEstimate,
  createBootstrap,
  groupStrata,
  percentileInterval,
  scoreTable,
} from '../../lib/evaluation/bootstrap.js';
import { mainMeasure, type Measure } from '../../lib/evaluation/metrics.js';
import type { QuestionResult } from '../../lib/evaluation/result.js';
import { readJsonLines } from '../../lib/io/files.js';
import { READER } from '../../lib/policy/trained-models.js';
import { createRandom } from '../../lib/random.js';

/** An answer in `results.jsonl`: a result of `evaluate` without queries and answer. */
const answerSchema = z.looseObject({
  method: z.string(),
  model: z.string(),
  seed: z.number(),
  questionId: z.string(),
  benchmark: z.string(),
  subset: z.string(),
  em: z.number(),
  formatOk: z.boolean(),
  modelCalls: z.number(),
  decomposed: z.boolean(),
});
type Answer = z.infer<typeof answerSchema>;

const FIRST_EDITION = 'smollm2-135m-instruct-warm-up';
const SECOND_EDITION = 'reader';
/** Rows of the table: whose answers, of all seeds or of one. */
const ROWS: readonly { title: string; method: string; model: string; seed?: number }[] = [
  {
    title: 'first edition, warm-up, Search-R1’s prompt',
    method: 'untrained:search-r1',
    model: FIRST_EDITION,
  },
  {
    title: 'first edition, ParallelSearch after RL, seed 2',
    method: 'parallelsearch',
    model: FIRST_EDITION,
  },
  {
    title: 'warm-up, ParallelSearch’s prompt',
    method: 'untrained:parallel',
    model: SECOND_EDITION,
  },
  {
    title: 'warm-up, Search-R1’s prompt, which RL did not improve',
    method: 'untrained:search-r1',
    model: SECOND_EDITION,
  },
  { title: 'ParallelSearch after RL, two seeds', method: 'parallelsearch', model: SECOND_EDITION },
  {
    title: 'its seed 2, `smollm2-parallelsearch`',
    method: 'parallelsearch',
    model: SECOND_EDITION,
    seed: 2,
  },
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

async function readAnswers(folder: string): Promise<Answer[]> {
  const file = join(folder, 'results.jsonl');
  const answers: Answer[] = [];
  const parse = (line: unknown): Answer => answerSchema.parse(line);
  for await (const answer of readJsonLines(file, parse, `answers in ${file}`)) answers.push(answer);
  return answers;
}

/** The table of `docs/real-models.md` in Markdown, with 95 % intervals over questions. */
export async function readerTable(folder = READER): Promise<string> {
  const answers = await readAnswers(folder);
  const lines = ROWS.map(({ title, method, model, seed }) => {
    const isCounted = (answer: Answer): boolean =>
      answer.method === method &&
      answer.model === model &&
      (seed === undefined || answer.seed === seed);
    return [title, ...figures(answers.filter(isCounted))];
  });
  const head = ['', ...COLUMNS.map(({ title }) => title)];
  return [head, head.map(() => '---'), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

/** Questions drawn anew within benchmark and type. */
function resample(answers: readonly Answer[]) {
  const table = scoreTable(answers as unknown as QuestionResult[], [EM, FORMAT, DECOMPOSED, CALLS]);
  const { questions } = table;
  const strata = groupStrata(questions.map(({ benchmark, subset }) => `${benchmark}/${subset}`));
  return { table, bootstrap: createBootstrap(table, strata, { random: createRandom('reader') }) };
}

/** The figures of one method, averaged over its seeds. */
function figures(answers: readonly Answer[]): string[] {
  const { table, bootstrap } = resample(answers);
  const { questions, runs } = table;
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

/** ParallelSearch's exact match after RL minus another prompt's before it, in points. */
export async function readerLead(method: string, folder = READER): Promise<string> {
  const answers = await readAnswers(folder);
  const model = SECOND_EDITION;
  const { table, bootstrap } = resample(answers.filter((answer) => answer.model === model));
  const weights = new Float64Array(table.questions.length).fill(1 / table.questions.length);
  const [ours, other] = ['parallelsearch', method].map((name) =>
    bootstrap.estimator({ ...table.runs[0], method: name }, EM.metric)(weights),
  );
  const { value, low, high } = percentileInterval(contrastEstimate(ours, other, 'difference')!);
  return [value, low, high].map((part) => (100 * part).toFixed(1).replace('-', '−')).join(' ');
}
