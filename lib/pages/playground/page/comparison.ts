/** Both methods in figures, once they have answered. */
import { exactMatch } from '../../../text/normalize.js';
import { finalAnswer } from '../../../text/turns.js';
import type { Trajectory } from '../../../rollout/trajectory.js';
import { element } from '../../viewer/page/dom.js';
import { seconds, timeOf, type Stretch } from './time-line.js';

/** A method's answer and what it took. */
export interface Outcome {
  title: string;
  trajectory: Trajectory;
  stretches: readonly Stretch[];
  elapsedMs: number;
}

export const COMPARISON_COLUMNS = [
  'Answer',
  'Generations',
  'Search turns',
  'Sub-queries',
  'Tokens written',
  'Waited for retrieval',
  'Time',
] as const;

/** @param goldenAnswers empty where they are not known */
export function comparisonRow(
  { trajectory, stretches, elapsedMs }: Outcome,
  goldenAnswers: readonly string[],
): string[] {
  const answer = finalAnswer(trajectory.segments);
  const isKnown = goldenAnswers.length > 0;
  const verdict = isKnown ? (exactMatch(answer, goldenAnswers) ? '✓ ' : '✗ ') : '';
  const { modelCalls, searchTurns, segments } = trajectory;
  const written = segments
    .filter(({ kind }) => kind === 'policy')
    .reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
  const numQueries = searchTurns.reduce((sum, { queries }) => sum + queries.length, 0);
  return [
    `${verdict}${answer ?? 'none'}`,
    ...[modelCalls, searchTurns.length, numQueries, written].map(String),
    seconds(timeOf(stretches, 'search')),
    seconds(elapsedMs),
  ];
}

/** One sentence about who was quicker. */
export function speedSentence(outcomes: readonly Outcome[]): string {
  const [first, last] = [...outcomes].sort((a, b) => a.elapsedMs - b.elapsedMs);
  const times = last.elapsedMs / first.elapsedMs;
  if (times < 1.05) return 'Both took the same time.';
  return `${first.title} answered in ${seconds(first.elapsedMs)}; ${last.title} took ${times.toFixed(1)} times as long.`;
}

/** The table of both. */
export function comparisonNode(outcomes: readonly Outcome[], goldenAnswers: readonly string[]): HTMLElement {
  const known = goldenAnswers.length > 0 ? `; gold answer: ${goldenAnswers.join(' / ')}` : '';
  const head = ['Method', ...COMPARISON_COLUMNS].map((name) => element('th', { scope: 'col' }, name));
  const rows = outcomes.map((outcome) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, outcome.title),
      ...comparisonRow(outcome, goldenAnswers).map((cell) => element('td', {}, cell)),
    ),
  );
  const table = element(
    'table',
    {},
    element('caption', {}, `Both answers${known}`),
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...rows),
  );
  return element(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Both answers in figures' },
    table,
  );
}
