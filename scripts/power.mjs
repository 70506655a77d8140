/**
 * Estimates how many questions, warm-up seeds and RL seeds are needed to detect a
 * difference between two methods, from the variance of dev answers.
 *
 *   node scripts/power.mjs [effect=0.01] [secondsPerRun=1000]
 *
 * Reads `data/results/dev-answers.json`: the exact match of the two methods' answers to
 * the dev questions, one digit per question. The average weights benchmarks equally. A
 * difference is detectable if it is at least 2.8 standard errors (80 % power at the 5 %
 * level).
 */
import { readFile } from 'node:fs/promises';
import { pathToFileURL, URL } from 'node:url';
import { group, mean, rollup, sum, variance } from 'd3-array';

const VISIBLE = 2.8;
const ANSWERS = new URL('../data/results/dev-answers.json', import.meta.url);

/**
 * Rows `{ method, warmUp, seed, questionId, benchmark, em }` of a model's answers to the
 * questions selected by `chosen`.
 */
export function rowsOf({ questions, runs }, model, chosen) {
  return runs
    .filter((run) => run.model === model)
    .flatMap(({ em, ...run }) =>
      questions.flatMap((question, i) =>
        chosen(question) ? [{ ...run, ...question, em: Number(em[i]) }] : [],
      ),
    );
}

/**
 * Variance components of paired differences: warm-ups, RL runs within one, questions, and
 * the residual.
 */
export function varianceComponents(rows) {
  const [first, second] = [...new Set(rows.map(({ method }) => method))];
  const key = ({ warmUp, seed, questionId }) => [warmUp, seed, questionId].join(' ');
  const others = new Map(
    rows.filter(({ method }) => method === second).map((row) => [key(row), row.em]),
  );
  const sizes = rollup(
    rows,
    (own) => new Set(own.map(({ questionId }) => questionId)).size,
    ({ benchmark }) => benchmark,
  );
  const differences = rows
    .filter((row) => row.method === first)
    .map((row) => ({
      warmUp: row.warmUp,
      run: `${row.warmUp} ${row.seed}`,
      question: row.questionId,
      difference: row.em - others.get(key(row)),
      weight: 1 / (sizes.get(row.benchmark) * sizes.size),
    }));
  const runs = [...group(differences, ({ run }) => run).values()];
  const meanOf = (own) => sum(own, ({ difference, weight }) => difference * weight);
  const runMeans = runs.map((own) => ({ warmUp: own[0].warmUp, value: meanOf(own) }));
  const byWarmUp = [...group(runMeans, ({ warmUp }) => warmUp).values()].map((own) =>
    own.map(({ value }) => value),
  );
  const perQuestion = [...group(differences, ({ question }) => question).values()];
  // Of the weighted mean over a run's questions: what varies with the question, and with
  // question and run.
  const left = sum(
    perQuestion,
    (own) => own[0].weight ** 2 * (variance(own, ({ difference }) => difference) ?? 0),
  );
  const questions = Math.max(
    0,
    sum(perQuestion, (own) => own[0].weight ** 2 * mean(own, ({ difference }) => difference) ** 2) -
      left / runs.length,
  );
  const ofRuns = mean(byWarmUp, (values) => variance(values) ?? 0);
  const ofWarmUps = variance(byWarmUp.map((values) => mean(values))) ?? 0;
  const seeds = runs.length / byWarmUp.length;
  return {
    effect: mean(runMeans, ({ value }) => value),
    numQuestions: perQuestion.length,
    questions,
    left,
    runs: Math.max(0, ofRuns - left),
    warmUps: Math.max(0, ofWarmUps - ofRuns / seeds),
  };
}

/**
 * Standard error of the mean difference for numbers of questions (relative to the
 * data's), warm-ups and seeds.
 */
export const standardError = ({ questions, left, runs, warmUps }, share, numWarmUps, numSeeds) =>
  Math.sqrt(
    warmUps / numWarmUps + (runs + left / share) / (numWarmUps * numSeeds) + questions / share,
  );

const SHARES = [1, 2.5, 5];
const SEEDS = [
  [3, 1],
  [3, 2],
  [3, 4],
  [6, 2],
  [12, 2],
  [24, 2],
];

function formatTable(title, components, effect, seconds) {
  console.log(`\n${title}: ${components.numQuestions} dev questions.`);
  console.log('questions  warm-ups  seeds  visible effect  hours on two cores');
  for (const share of SHARES)
    for (const [warmUps, seeds] of SEEDS) {
      const visible = VISIBLE * standardError(components, share, warmUps, seeds);
      const hours = (2 * warmUps * seeds * seconds) / 2 / 3600;
      const mark = visible <= effect ? '*' : ' ';
      const questions = Math.round(share * components.numQuestions);
      const cells = [questions, warmUps, seeds, visible.toFixed(4) + mark, hours.toFixed(1)];
      console.log(cells.map((cell, i) => String(cell).padStart([9, 9, 6, 15, 19][i])).join(' '));
    }
}

async function main([effect = '0.01', seconds = '1000']) {
  const answers = JSON.parse(await readFile(ANSWERS, 'utf8'));
  const isAveraged = ({ benchmark }) => benchmark !== 'many';
  for (const model of ['base', 'instruct'])
    for (const [what, chosen] of [
      ['average of the benchmarks', isAveraged],
      [
        'parallelizable questions',
        (question) => isAveraged(question) && question.subset === 'parallelizable',
      ],
    ]) {
      const rows = rowsOf(answers, model, chosen).map((row) =>
        what.startsWith('average') ? row : { ...row, benchmark: 'all' },
      );
      formatTable(`${model}, ${what}`, varianceComponents(rows), Number(effect), Number(seconds));
    }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href)
  await main(process.argv.slice(2));
