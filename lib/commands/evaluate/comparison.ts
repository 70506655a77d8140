/** Compares the answers of one model with the prompts of several methods. */
import { mean } from 'd3-array';
import type { Measurement } from '../../evaluation/measurement.js';
import type { TokenUsage } from '../../policy/chat-policy.js';
import { answerFigures, type ComparedRun } from '../../report/compared-runs.js';
import { intervalText } from '../../report/text.js';
import { metricInfo } from '../../report/titles.js';
import { criticalSteps } from '../../rewards/sub-questions.js';
import type { TotalUsage } from '../../rollout/trajectory.js';
import { ANSWER_COLUMNS, fixed, meanRows, formatTable, type Column } from '../common/tables.js';
import type { Answer } from './answering.js';

export interface Evaluation {
  name: string;
  settings: Readonly<Record<string, unknown>>;
  answers: Answer[];
  summary: string;
}

/** Cost in US dollars. @param price per million tokens */
export const cost = (usage: TokenUsage, price: TokenUsage): number =>
  (usage.read * price.read + usage.written * price.written) / 1e6;

export const MEASURED_COLUMNS: readonly Column<Measurement>[] = [
  ...ANSWER_COLUMNS,
  { title: 'queries', value: ({ searches }) => searches.flat().length },
  { title: 'critical steps', value: criticalSteps },
  { title: 'tokens written', value: ({ responseTokens }) => responseTokens },
];

function costColumns(price?: TokenUsage): Column<Answer>[] {
  const counted = (value: (usage: TotalUsage) => number) => ({
    value: ({ usage }: Answer) => (usage.uncounted ? NaN : value(usage) || NaN),
  });
  return [
    { title: 'tokens read', ...counted(({ read }) => read) },
    { title: 'seconds', value: ({ seconds }) => seconds },
    ...(price ? [{ title: '$ per 1,000', ...counted((usage) => 1000 * cost(usage, price)) }] : []),
  ];
}

export const comparedRun = (
  { name, settings, answers }: Evaluation,
  price?: TokenUsage,
): ComparedRun => ({
  name,
  settings: Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [key, String(value)]),
  ),
  steps: [],
  answers: answers.map(({ result }) => result),
  trajectories: answers.flatMap(({ trajectory }) => trajectory ?? []),
  costs: Object.fromEntries(
    costColumns(price).map(({ title, value }) => [title, fixed(mean(answers, value))]),
  ),
});

/** A row per method, then differences from the first, with 95 % bootstrap intervals. */
export function comparisonText(
  evaluated: readonly Evaluation[],
  runs: readonly ComparedRun[],
  price?: TokenUsage,
): string {
  const columns: Column<Answer>[] = [
    ...MEASURED_COLUMNS.map(({ title, value }) => ({
      title,
      value: ({ result }: Answer) => value(result),
    })),
    ...costColumns(price),
  ];
  const rows = evaluated.map(
    ({ name, answers }) => meanRows(answers, columns, { keys: [], all: name })[0],
  );
  const head = ['method', '', ...columns.map(({ title }) => title)];
  const contrasts = answerFigures(runs)?.contrasts ?? [];
  const differences = ['em', 'model_calls', 'turns', 'retrievals'].flatMap((metric) =>
    contrasts
      .filter((contrast) => contrast.metric === metric && contrast.kind === 'difference')
      .map(
        ({ method, against, ...interval }) =>
          `${method} − ${against}: ${metricInfo(metric).title} ${intervalText(interval)}\n`,
      ),
  );
  return `${formatTable(head, rows)}\n\n${differences.join('')}`;
}
