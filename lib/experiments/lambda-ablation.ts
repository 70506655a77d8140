/**
 * Table 4: the weights of the decomposition reward (lambda_d) and of the search-count
 * reward (lambda_s). Trains the paper's grid, and a control with neither; the paper's own
 * setting shares the main comparison's runs.
 */
import { greatest, group, max, mean, min, rollup, sort } from 'd3-array';
import { mainMeasure } from '../evaluation/metrics.js';
import { matching, where, findFigure } from '../evaluation/figures.js';
import type { MethodPair } from '../evaluation/table.js';
import { intervalChart, lineChart, SMALL_WORLD_NOTE } from '../report/charts/chart.js';
import { trainingRows, type CurvePoint, type TrainingRow } from '../report/training-rows.js';
import { tradeOffChart } from '../report/charts/trade-off.js';
import { figureText, gapWords } from '../report/text.js';
import { rewardConstants } from '../rewards/presets.js';
import { formatList, countText } from '../text/english.js';
import type { Lambdas } from '../training/presets.js';
import { isTrained, type PolicyRun } from './running/policy-runs.js';
import type { Experiment } from './experiment.js';
import { partsAhead, findParts, type PaperClaim } from './results/claims.js';
import { byModel, lambdaName, paperMean, paperTables } from './results/paper.js';
import { checkPredictions, percent, summarise, type Predicted } from './results/summary.js';
import { answerComputation } from './running/answers.js';
import { loadAnswers } from './running/load-answers.js';
import { listRuns } from './running/runs.js';
import { planTraining } from './running/train-runs.js';

/** The setting that the paper recommends. */
const { lambdaD, lambdaS } = rewardConstants('paper');
const PAPER: Lambdas = { lambdaD, lambdaS };
/** Only correct answers and the format are rewarded, under ParallelSearch's prompt. */
const CONTROL: Lambdas = { lambdaD: 0, lambdaS: 0 };
/** Only one of the two rewards, as strong as in the paper. */
const ALONE: readonly Lambdas[] = [
  { lambdaD: 0, lambdaS },
  { lambdaD, lambdaS: 0 },
];

/** `(0.15, 0.35)`, as the paper writes a setting. */
const lambdaTitle = (setting: Lambdas): string => `(${setting.lambdaD}, ${setting.lambdaS})`;

const LAMBDA_NAME = /^lambda_d=([\d.]+),lambda_s=([\d.]+)$/;
/** Parses a setting. @throws Error for another method */
export function parseLambdas(method: string): Lambdas {
  const match = LAMBDA_NAME.exec(method);
  if (match) return { lambdaD: Number(match[1]), lambdaS: Number(match[2]) };
  throw new Error(`Expected a name such as lambda_d=0.15,lambda_s=0.35, but got ${method}.`);
}

/** The settings of Table 4, in its order. */
const lambdaGrid = (): Lambdas[] =>
  [...new Set(paperTables().rows.map(({ method }) => method))]
    .filter((method) => LAMBDA_NAME.test(method))
    .map(parseLambdas);
/** Every setting that is trained here. */
export const lambdaSettings = (): Lambdas[] => [...lambdaGrid(), CONTROL];

export const runLambdas = ({ lambdas = PAPER }: PolicyRun): Lambdas => lambdas;

const isPaper = (setting: Lambdas): boolean => lambdaName(setting) === lambdaName(PAPER);

/** ParallelSearch from the instruct models with every setting and one seed. */
export const lambdaRuns = (): PolicyRun[] =>
  listRuns({ methods: ['parallelsearch'] }).flatMap((run) =>
    lambdaSettings().map((lambdas) => (isPaper(lambdas) ? run : { ...run, lambdas })),
  );

/** Drops initial models with untrained runs, so that compared settings share models. */
export function dropIncompleteSeeds(runs: readonly PolicyRun[], root?: string): PolicyRun[] {
  const missing = runs.filter((run) => !isTrained(run, root)).map(({ initSeed }) => initSeed);
  return runs.filter(({ initSeed }) => !missing.includes(initSeed));
}

/** Describes a setting: `neither`, `one`, `both`, or `paper` for the paper's. */
export const rewardsTitle = (setting: Lambdas): string =>
  isPaper(setting)
    ? 'paper'
    : ['neither', 'one', 'both'][Math.sign(setting.lambdaD) + Math.sign(setting.lambdaS)];

/** Settings whose rows in Table 4 agree to the last digit. */
function identicalSettings(): Lambdas[] {
  const figures = rollup(
    paperTables().rows,
    (rows) => JSON.stringify(rows.map(({ value }) => value)),
    ({ method }) => method,
  );
  const printed = (setting: Lambdas): string => figures.get(lambdaName(setting))!;
  const grid = lambdaGrid();
  return grid.filter((setting) =>
    grid.some((other) => other !== setting && printed(other) === printed(setting)),
  );
}

type OnGrid = { lambda_d: number; lambda_s: number };
const withLambdas = <T extends { method: string }>(row: T): T & OnGrid => {
  const setting = parseLambdas(row.method);
  return { ...row, lambda_d: setting.lambdaD, lambda_s: setting.lambdaS };
};

/**
 * Selects the rows on the two lines through the grid that cross at the paper's setting,
 * and adds the `line` and the varied `weight`.
 */
export function onLines<T extends { method: string }>(rows: readonly T[]) {
  const paper: OnGrid = { lambda_d: lambdaD, lambda_s: lambdaS };
  const lines = [
    ['lambda_d', 'lambda_s'],
    ['lambda_s', 'lambda_d'],
  ] as const;
  return lines.flatMap(([varied, fixed]) =>
    rows
      .map(withLambdas)
      .filter((row) => row[fixed] === paper[fixed])
      .map((row) => ({
        ...row,
        line: `${varied} varied, ${fixed} = ${paper[fixed]}`,
        weight: String(row[varied]),
      })),
  );
}

/** Fields of the contrast of two settings. */
const compare = (setting: Lambdas, other: Lambdas) => {
  return { method: lambdaName(setting), against: lambdaName(other) };
};
const ON_PARALLEL = { benchmark: 'all', subset: 'parallelizable' };
const ON_TRAINING = { subset: 'parallelizable', metric: 'decomposition_ratio' };
/** The mean of Table 4's two data sets. */
const table4Mean = (setting: Lambdas, metric: string): number =>
  paperMean({ method: lambdaName(setting), metric });

const lambdaClaims: readonly PaperClaim[] = [
  {
    id: 'learns-to-decompose',
    claim: 'The rewards teach to decompose, more reliably than the prompt alone',
    paper: 'Table 3',
    tables: () => {
      const shares = (method: string): string =>
        byModel((model) => percent(paperMean({ method, model, ...ON_TRAINING }), 1));
      return `decomposed: ${shares('parallelsearch')}; Search-R1 with the prompt: ${shares('search-r1-parallel-prompt')}`;
    },
    cell: 'claims',
    rule: 'Difference in decomposition ratio on parallelizable questions to training under the same prompt with neither reward above 0',
    parts: partsAhead([
      [
        'minus neither reward',
        { ...compare(PAPER, CONTROL), ...ON_PARALLEL, metric: 'decomposition_ratio' },
      ],
    ]),
  },
  {
    id: 'lambda-best',
    claim: 'Weights of 0.15 (decomposition) and 0.35 (search count) answer most questions',
    paper: 'Table 4',
    tables: () => {
      const best = greatest(lambdaGrid(), (setting) => table4Mean(setting, 'em'))!;
      const twins = identicalSettings().map(lambdaTitle);
      const note = twins.length > 0 ? `; the rows ${formatList(twins)} are identical` : '';
      return `best mean of Table 4: ${lambdaTitle(best)} with ${figureText(table4Mean(best, 'em'))}${note}`;
    },
    cell: 'claims',
    rule: 'Difference in exact match on parallelizable questions to every other setting of Table 4 above 0',
    // Not before a claim is judged: it reads the paper's tables.
    parts: (result) => {
      const gaps = lambdaGrid().map(
        (setting) =>
          [
            `minus ${lambdaTitle(setting)}`,
            { ...compare(PAPER, setting), ...ON_PARALLEL },
          ] as const,
      );
      return partsAhead(gaps)(result);
    },
  },
  {
    id: 'lambda-calls',
    claim: 'The search-count reward saves calls',
    paper: 'Table 4',
    tables: () => {
      const [reward, none] = [lambdaS, 0].map((weight) =>
        table4Mean({ lambdaD, lambdaS: weight }, 'model_calls').toFixed(2),
      );
      return `${reward} calls with it, ${none} without (means of Table 4)`;
    },
    cell: 'claims',
    rule: 'Difference in model calls on parallelizable questions to the setting without it, with the other reward and alone, below 0',
    parts: (result) =>
      [
        { label: 'calls, added to the other reward', ...compare(PAPER, ALONE[1]) },
        { label: 'calls, alone', ...compare(ALONE[0], CONTROL) },
      ].flatMap(({ label, ...sides }) => {
        const cell = { ...sides, ...ON_PARALLEL, metric: 'model_calls', kind: 'difference' };
        return findParts(result, cell, { label, unit: 'number', side: 'below', threshold: 0 });
      }),
  },
];

const PREDICTED: readonly Predicted[] = [
  { who: 'Both rewards save', setting: PAPER, against: CONTROL },
  { who: 'The search-count reward alone saves', setting: ALONE[0], against: CONTROL },
  { who: 'The search-count reward added to the other saves', setting: PAPER, against: ALONE[1] },
].map(({ who, setting, against }) => {
  const sides = compare(setting, against);
  return {
    prediction: `${who} model calls on parallelizable questions`,
    figure: { ...ON_PARALLEL, ...sides, metric: 'model_calls', kind: 'difference' },
    holds: ({ high }) => high < 0,
    because: {
      where: `${lambdaTitle(against)} decomposes a share of`,
      figure: { ...ON_PARALLEL, method: sides.against, metric: 'decomposition_ratio' },
    },
  };
});

/** Share of decomposed parallelizable questions that counts as learned. */
const LEARNED = 0.9;
/** Number of steps to average, since one step has few parallelizable questions. */
const WINDOW = 3;
const LAST_STEPS = 20;

const SHARES = 'decomposition_ratio/parallelizable';

/** Steps until decomposing is learned; all steps if it never is. */
function stepsToDecompose(shares: readonly number[]): number {
  const starts = shares.slice(WINDOW - 1);
  const first = starts.findIndex((_, i) => mean(shares.slice(i, i + WINDOW))! >= LEARNED);
  return first < 0 ? shares.length : first + WINDOW;
}

type Summary = (values: readonly number[]) => number;
const CURVE_MEASURES: readonly [metric: string, subset: string, curve: string, of: Summary][] = [
  ['steps_to_decompose', 'parallelizable', SHARES, stepsToDecompose],
  ['decomposed_at_end', 'parallelizable', SHARES, (shares) => mean(shares.slice(-LAST_STEPS))!],
  ['turns_over_training', 'all', 'turns', (turns) => mean(turns)!],
  ['outcome_over_training', 'all', 'rewards/outcome', (rewards) => mean(rewards)!],
];

/** How fast each setting learns: means over the seeds, with the range. */
export const learningRows = (curves: readonly CurvePoint[]): Omit<TrainingRow, 'step'>[] =>
  [...group(curves, ({ method }) => method)].flatMap(([method, points]) => {
    const seeds = [...group(points, ({ initSeed, seed }) => `${initSeed}/${seed}`).values()];
    return CURVE_MEASURES.map(([metric, subset, curve, of]) => {
      const values = seeds.map((steps) => {
        const inOrder = sort(steps, ({ step }) => step).map((point) => point[curve]);
        return of(inOrder.filter((value) => typeof value === 'number'));
      });
      return {
        method,
        model: points[0].model,
        benchmark: 'training',
        subset,
        metric,
        value: mean(values)!,
        low: min(values)!,
        high: max(values)!,
        seeds: seeds.length,
        band: 'range of seeds',
      };
    });
  });

const METRICS = ['em', 'decomposition_ratio', 'coverage', 'turns', 'model_calls'] as const;
const filter = where({
  benchmark: ['hotpotqa', '2wikimultihopqa', 'all'],
  subset: ['all', 'single_hop', 'parallelizable', 'sequential'],
});
const DYNAMICS = ['turns', 'decomposition_ratio/parallelizable', 'decomposition_ratio/sequential'];

/** The paper's setting and every other, identical ones, each reward and neither. */
function pairs(): MethodPair[] {
  const pair = (one: Lambdas, other: Lambdas): MethodPair => [lambdaName(one), lambdaName(other)];
  const [twin, ...twins] = identicalSettings();
  return [
    ...lambdaSettings().flatMap((other) => (isPaper(other) ? [] : [pair(PAPER, other)])),
    ...twins.map((other) => pair(twin, other)),
    ...ALONE.map((alone) => pair(alone, CONTROL)),
  ];
}

const withTitles = <T extends { method: string; against?: string }>(rows: readonly T[]) =>
  rows.map(({ ...row }) => {
    const setting = parseLambdas(row.method);
    const against = row.against && { against_setting: lambdaTitle(parseLambdas(row.against)) };
    return { ...row, setting: lambdaTitle(setting), ...against, rewards: rewardsTitle(setting) };
  });

export const lambdaAblation: Experiment = {
  name: 'lambda-ablation',
  title: 'training with other weights of the decomposition and the search-count reward',
  computation: answerComputation(() => dropIncompleteSeeds(lambdaRuns()), planTraining(lambdaRuns)),
  claims: lambdaClaims,
  async result(folder) {
    const read = await loadAnswers(lambdaAblation, folder, (run) => lambdaName(runLambdas(run)));
    const settings = { measures: METRICS.map(mainMeasure), pairs: pairs(), filter };
    const figures = summarise(read, settings);
    const rows = figures.rows.map(withLambdas);
    const contrasts = figures.contrasts.map(withLambdas);
    const training = trainingRows(read.curves, DYNAMICS).map(withLambdas);
    const learning = learningRows(read.curves).map(withLambdas);
    const steps = (setting: Lambdas): string => {
      const figure = { method: lambdaName(setting), metric: 'steps_to_decompose' };
      return figureText(matching(learning, figure)[0]?.value, 0);
    };
    const [everywhere, onParallel] = ['all', 'parallelizable'].map((subset) => {
      const gap = { ...compare(PAPER, CONTROL), ...ON_PARALLEL, subset };
      return gapWords(findFigure(figures, { ...gap, metric: 'em', kind: 'difference' })!);
    });
    const titled = withTitles(rows);
    const lines = onLines(rows);
    const byType = matching(lines, { benchmark: 'all', metric: 'em' }).filter(
      ({ subset }) => subset !== 'all',
    );
    const drawn = new Map([
      [lambdaName(PAPER), 'both'],
      [lambdaName(ALONE[1]), 'for decomposing'],
      [lambdaName(ALONE[0]), 'for few searches'],
      [lambdaName(CONTROL), 'neither'],
    ]);
    // Only means: the ranges of four settings would overlap.
    const learned = matching(training, { ...ON_TRAINING, method: [...drawn.keys()] }).map(
      ({ method, metric, step, value }) => ({ rewards: drawn.get(method)!, metric, step, value }),
    );
    return {
      ...figures,
      rows: titled,
      contrasts: withTitles(contrasts),
      predictions: checkPredictions({ rows, contrasts }, PREDICTED),
      finding: `With both rewards the policy learns to decompose in ${steps(PAPER)} training steps, with neither in ${steps(CONTROL)}. In the end its answers are ${everywhere} over all questions and ${onParallel} on parallelizable ones.`,
      summary: `${countText(read.answers.length)} answers after training with ${lambdaSettings().length} settings of the two weights.`,
      frames: { lines, training: onLines(training), learning: withTitles(learning) },
      figures: {
        learning: lineChart(learned, {
          title: 'Decomposed parallelizable questions over training, by the rewards used',
          subtitle: SMALL_WORLD_NOTE,
          x: 'step',
          color: 'rewards',
          width: 420,
        }),
        answers: intervalChart(byType, {
          title: 'Exact match by the weights of the rewards, with 95 % intervals',
          subtitle: SMALL_WORLD_NOTE,
          x: 'weight',
          color: 'subset',
          column: 'line',
          spoken: matching(byType, { subset: 'parallelizable' }),
          zoomed: true,
        }),
        tradeOff: tradeOffChart(matching(titled, ON_PARALLEL)),
      },
    };
  },
};
