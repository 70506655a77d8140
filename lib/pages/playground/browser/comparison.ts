/** The methods in figures, once they have answered. */
import { sort, sum } from 'd3-array';
import { h, table } from '../../../html/browser/dom.js';
import type { Trajectory } from '../../../rollout/trajectory.js';
import { exactMatch } from '../../../text/normalize.js';
import { seconds, timeOf, type Span } from './time-line.js';

/** A method's answer and what it took. */
export interface Outcome {
  title: string;
  trajectory: Trajectory;
  spans: readonly Span[];
  elapsedMs: number;
}

const COLUMNS = [
  'Method',
  'Answer',
  'Generations',
  'Search turns',
  'Sub-queries',
  'Tokens written',
  'Waited for retrieval',
  'Time',
];

/** @param goldenAnswers empty where they are not known */
export function comparisonRow(
  { trajectory, spans, elapsedMs }: Outcome,
  goldenAnswers: readonly string[],
): string[] {
  const { answer, modelCalls, searchTurns, segments } = trajectory;
  const verdict = exactMatch(answer, goldenAnswers) ? '✓ ' : '✗ ';
  const numWritten = sum(segments, ({ kind, tokenIds }) =>
    kind === 'policy' ? tokenIds.length : 0,
  );
  const numQueries = sum(searchTurns, ({ queries }) => queries.length);
  return [
    `${goldenAnswers.length > 0 ? verdict : ''}${answer ?? 'none'}`,
    ...[modelCalls, searchTurns.length, numQueries, numWritten].map(String),
    seconds(timeOf(spans, 'search')),
    seconds(elapsedMs),
  ];
}

/** One sentence about who was quicker. */
export function speedSentence(outcomes: readonly Outcome[]): string {
  const [first, last] = sort(outcomes, ({ elapsedMs }) => elapsedMs);
  const times = last.elapsedMs / first.elapsedMs;
  if (times < 1.05) return 'Both took the same time.';
  return `${first.title} answered in ${seconds(first.elapsedMs)}; ${last.title} took ${times.toFixed(1)} times as long.`;
}

/** The table of all. */
export function comparisonNode(
  outcomes: readonly Outcome[],
  goldenAnswers: readonly string[],
): HTMLElement {
  const known = goldenAnswers.length > 0 ? `; gold answer: ${goldenAnswers.join(' / ')}` : '';
  const rows = outcomes.map((outcome) => {
    const cells = comparisonRow(outcome, goldenAnswers).map((cell) => h('td', cell));
    return h('tr', h('th', { scope: 'row' }, outcome.title), cells);
  });
  const scroll = { tabindex: 0, role: 'region', 'aria-label': 'The answers in figures' };
  return h('div.scroll', scroll, table(`Answers${known}`, COLUMNS, rows));
}
