/** Charts and tables of the first lesson: what a reward is made of, and how a few steps of training move a policy. */
import type { Measurement } from '../../evaluation/result.js';
import type { Question } from '../../data/question.js';
import type { RewardOptions } from '../../rewards/options.js';
import { rewardOptions, rewardsFrom, rewardsOf } from '../../rewards/presets.js';
import { componentTitle } from '../../rewards/component-title.js';
import { scoreRollout, type Reward } from '../../rewards/reward.js';
import type { Rollout } from '../../rewards/rollout.js';
import type { FirstSearch } from './first-search.js';
import {
  chartOf,
  SERIES_COLORS,
  SERIES_SHAPES,
  titled,
  type Chart,
  type VegaLiteSpec,
} from '../../report/chart.js';
import { tableOf, type Table } from '../../report/frame.js';
import { figureText, methodTitle } from '../../report/select.js';
import { methodSeries } from '../../report/series.js';

/** What each method did on one question, as the rewards see it. */
export type Rollouts = Readonly<Record<string, Rollout>>;

const EQUATIONS: Record<string, string> = {
  outcome: ' (Eq. 3)',
  decomposition: ' (Eq. 4)',
  search_count: ' (Eq. 5)',
  format: ' (Eq. 6)',
};

/** The rewards of each rollout, component by component, and their total. */
export function rewardTable(rollouts: Rollouts, rewards: readonly Reward[] = rewardsOf('paper')): Table {
  const scores = Object.entries(rollouts).map(
    ([method, rollout]) => [methodTitle(method), scoreRollout(rewards, rollout).components] as const,
  );
  const records = [...rewards.map(({ name }) => name), 'total'].map((name) => ({
    Component: componentTitle(name) + (EQUATIONS[name] ?? ''),
    ...Object.fromEntries(scores.map(([method, score]) => [method, figureText(score[name], 2)])),
  }));
  return tableOf('The reward of one rollout of each method.', records);
}

const totalOf = (rollout: Rollout, options: RewardOptions): number =>
  scoreRollout(rewardsFrom(options), rollout).components.total;

const LAMBDAS = { lambdaD: 'λ_d', lambdaS: 'λ_s', lambdaF: 'λ_f' } as const;
type Lambda = keyof typeof LAMBDAS;
const LAMBDA_MEANINGS: Record<Lambda, string> = {
  lambdaD: 'decomposition',
  lambdaS: 'search count',
  lambdaF: 'format',
};
const MOST_LAMBDA = 0.5;

/** The total reward of each rollout while one lambda changes and the others stay the paper's. */
export function lambdaChart(rollouts: Rollouts, options: RewardOptions = rewardOptions()): Chart {
  const methods = Object.keys(rollouts);
  const panel = (lambda: Lambda): string => `${LAMBDAS[lambda]}: ${LAMBDA_MEANINGS[lambda]}`;
  const names = Object.keys(LAMBDAS) as Lambda[];
  const values = names.flatMap((lambda) =>
    Object.entries(rollouts).flatMap(([method, rollout]) =>
      // The total is linear in each lambda: its ends and the paper's value say it all.
      [0, options[lambda], MOST_LAMBDA].map((weight, i) => ({
        method: methodTitle(method),
        lambda: panel(lambda),
        weight,
        total: totalOf(rollout, { ...options, [lambda]: weight }),
        isPaper: i === 1,
      })),
    ),
  );
  const { color, shape } = methodSeries(methods);
  const x = {
    field: 'weight',
    type: 'quantitative',
    title: titled('Lambda', 'weight'),
    scale: { domain: [0, MOST_LAMBDA] },
  };
  const y = {
    field: 'total',
    type: 'quantitative',
    title: titled('Total reward', 'reward units'),
    scale: { zero: false },
  };
  const layer: VegaLiteSpec[] = [
    { mark: { type: 'line', strokeWidth: 2 }, encoding: { x, y, color } },
    {
      transform: [{ filter: 'datum.isPaper' }],
      mark: { type: 'point', filled: true, size: 70, opacity: 1 },
      encoding: { x, y, color, shape },
    },
  ];
  const totals = Object.entries(rollouts).map(
    ([method, rollout]) => `${methodTitle(method)} ${figureText(totalOf(rollout, options), 2)}`,
  );
  return chartOf({
    title: 'What each lambda changes for these rollouts',
    subtitle: 'Points: the default weights. What training sees is the distance between the lines',
    alt: `Total reward of each rollout against each lambda, the others at their defaults. At the defaults: ${totals.join(', ')}.`,
    spec: {
      data: { values },
      facet: { column: { field: 'lambda', sort: names.map(panel) } },
      spec: { width: 190, height: 190, layer },
    },
  });
}

const BEGINNINGS = ['all at once', 'one by one', 'in other words'] as const;

/** How the policy begins, by step: mean probabilities over the same questions before training and after every step. */
export function firstSearchChart(bySteps: readonly (readonly FirstSearch[])[]): Chart {
  const means = bySteps.map((questions) => {
    const mean = (value: (search: FirstSearch) => number): number =>
      questions.reduce((sum, question) => sum + value(question), 0) / questions.length;
    const [parallel, sequential] = [mean((q) => q.parallel), mean((q) => q.sequential)];
    // Rounding may take the sum a little beyond 1.
    return [parallel, sequential, Math.max(0, 1 - parallel - sequential)];
  });
  const values = means.flatMap((shares, step) =>
    shares.map((probability, i) => ({ step, beginning: BEGINNINGS[i], probability })),
  );
  const channel = { field: 'beginning', type: 'nominal', title: 'First search' };
  const x = {
    field: 'step',
    type: 'quantitative',
    title: titled('Training', 'GRPO steps'),
    axis: { tickMinStep: 1, format: 'd' },
  };
  const y = {
    field: 'probability',
    type: 'quantitative',
    title: titled('Probability', 'mean of the questions'),
    scale: { domain: [0, 1] },
  };
  const color = { ...channel, scale: { domain: BEGINNINGS, range: SERIES_COLORS } };
  const shape = { ...channel, scale: { domain: BEGINNINGS, range: SERIES_SHAPES } };
  const [first, last] = [means[0], means[means.length - 1]];
  const ends = BEGINNINGS.map((name, i) => `${name} from ${figureText(first[i])} to ${figureText(last[i])}`);
  return chartOf({
    title: 'How the policy begins its search',
    subtitle: `Exact probabilities on ${bySteps[0].length} questions that training does not see`,
    alt: `Mean probability of each way to begin, over ${bySteps.length - 1} steps: ${ends.join(', ')}.`,
    spec: {
      data: { values },
      width: 380,
      height: 220,
      layer: [
        { mark: { type: 'line', strokeWidth: 2 }, encoding: { x, y, color } },
        { mark: { type: 'point', filled: true, size: 60, opacity: 1 }, encoding: { x, y, color, shape } },
      ],
    },
  });
}

/** Means over sampled answers to the same questions, before and after. */
export function beforeAfterTable(
  questions: readonly Question[],
  before: readonly Measurement[],
  after: readonly Measurement[],
  options: RewardOptions = rewardOptions(),
): Table {
  const rewardOf = (measurement: Measurement, i: number): number => {
    const { answer, formatOk, searches, subset } = measurement;
    const question = questions[i];
    const { goldenAnswers } = question;
    // A measurement has no trajectory, and the rewards of the paper look at none.
    const trajectory = { segments: [], searchTurns: [] };
    const did = { answer, formatOk, searchTurns: searches, trajectory };
    return totalOf({ ...did, goldenAnswers, shape: subset, question }, options);
  };
  const measures: readonly [title: string, (measurement: Measurement, i: number) => number][] = [
    ['Reward', rewardOf],
    ['Exact match (share)', ({ em }) => em],
    ['Decomposed (share)', ({ decomposed }) => Number(decomposed)],
    ['Search turns', ({ turns }) => turns],
    ['Model calls', ({ modelCalls }) => modelCalls],
  ];
  const mean = (measurements: readonly Measurement[], of: (m: Measurement, i: number) => number): string =>
    figureText(measurements.map(of).reduce((a, b) => a + b, 0) / measurements.length, 2);
  const records = measures.map(([title, of]) => ({
    'Mean of': title,
    Before: mean(before, of),
    After: mean(after, of),
  }));
  return tableOf(
    `Sampled answers to ${questions.length} questions that training does not see, before and after.`,
    records,
  );
}
