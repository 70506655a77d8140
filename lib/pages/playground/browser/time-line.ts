/** Shows what the methods did when, and the result in figures. */
import { range, sort, sum } from 'd3-array';
import type { Trajectory } from '../../../rollout/trajectory.js';
import { exactMatch } from '../../../text/answer-match.js';
import { h, scrollable, table } from '../../browser/dom.js';
import type { PlaygroundEvent } from './worker.js';

/** Uninterrupted work of the model or the retriever; times in ms since the question. */
export interface Span {
  kind: 'model' | 'search';
  fromMs: number;
  toMs: number;
  /** Tokens of the model, or sub-queries of a search. */
  count: number;
}

export interface Lane {
  title: string;
  spans: readonly Span[];
  isRunning: boolean;
  /** Null until the answer. */
  trajectory: Trajectory | null;
}
export type FinishedLane = Pick<Lane, 'title' | 'spans'> & { trajectory: Trajectory };

const endTime = ({ spans }: Pick<Lane, 'spans'>): number => spans.at(-1)?.toMs ?? 0;

/** The spans of a lane after an event; the last span is open. */
export function extendLane(spans: readonly Span[], event: PlaygroundEvent): Span[] {
  const { elapsedMs: toMs } = event;
  const begin = (kind: Span['kind'], count: number): Span => ({ kind, fromMs: toMs, toMs, count });
  const last = spans.at(-1);
  if (!last) return [{ ...begin('model', 0), fromMs: 0 }]; // the prompt
  const numNew = event.type === 'text' ? 1 : 0;
  const extended = [...spans.slice(0, -1), { ...last, toMs, count: last.count + numNew }];
  if (event.type !== 'segment') return extended;
  if (event.segment === 'information') return [...extended, begin('model', 0)];
  return event.queries ? [...extended, begin('search', event.queries.length)] : extended;
}

/** Milliseconds spent on one kind of work. */
export function totalTime(spans: readonly Span[], kind: Span['kind']): number {
  return sum(spans, (span) => (span.kind === kind ? span.toMs - span.fromMs : 0));
}

/** At most seven round times from 0 to `endMs`. */
export function tickTimes(endMs: number): number[] {
  const steps = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000];
  const step = steps.find((ms) => endMs / ms <= 6) ?? 60_000;
  return range(Math.floor(endMs / step) + 1).map((i) => i * step);
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const describe = ({ kind, count, fromMs, toMs }: Span): string =>
  `${kind} ${seconds(toMs - fromMs)} (${count}${kind === 'model' ? ' tokens' : '×'})`;

const laneNode = (title: string, work: Node[], total = ''): HTMLElement =>
  h(
    'div.lane',
    h('span.lane-title', title),
    h('div.track', work),
    total && h('span.lane-total', total),
  );

/** Open spans last until `nowMs`. */
function lanesNode(lanes: readonly Lane[], nowMs: number): HTMLElement {
  const drawn = lanes.map(({ title, spans, isRunning }) => {
    const last = spans.at(-1);
    if (!isRunning || !last) return { title, spans };
    return { title, spans: [...spans.slice(0, -1), { ...last, toMs: Math.max(last.toMs, nowMs) }] };
  });
  const ends = drawn.map(endTime);
  const endMs = Math.max(1000, ...ends);
  const percent = (ms: number): string => `${(100 * ms) / endMs}%`;
  const spanNode = (span: Span): HTMLElement => {
    const { kind, fromMs, toMs, count } = span;
    const style = `left: ${percent(fromMs)}; width: ${percent(toMs - fromMs)}`;
    const text = kind === 'search' && `${count}×`;
    return h(`span.work.${kind}`, { style, title: describe(span) }, text);
  };
  const ticks = tickTimes(endMs).map((ms) =>
    h('span.tick', { style: `left: ${percent(ms)}` }, `${ms / 1000}`),
  );
  const axis = laneNode('seconds', ticks);
  axis.classList.add('axis');
  const words = drawn.map(
    ({ title, spans }) => `${title}: ${spans.map(describe).join('; ') || 'nothing yet'}.`,
  );
  return h(
    'div.lanes',
    { role: 'img', 'aria-label': words.join(' ') },
    drawn.map(({ title, spans }, i) => laneNode(title, spans.map(spanNode), seconds(ends[i]))),
    axis,
  );
}

/** A figure with a lane per method that shows model and retriever alternating. */
export function createTimeLine() {
  const lanes = h('div');
  const key = h(
    'span.key',
    h('span.work.model', 'model generates'),
    ' ',
    h('span.work.search', 'n× sub-queries retrieved together'),
  );
  const caption = h('figcaption', 'Time line ', key);
  return {
    node: h('figure.time-line', { 'aria-label': 'Time line' }, caption, lanes),
    draw: (running: readonly Lane[], nowMs: number): void =>
      lanes.replaceChildren(lanesNode(running, nowMs)),
  };
}

const COLUMNS = [
  'Method',
  'Answer',
  'Model calls',
  'Search turns',
  'Sub-queries',
  'Tokens',
  'Retrieval time',
  'Total time',
];

/** Cells for {@link COLUMNS} after the first. */
export function outcomeCells(lane: FinishedLane, goldenAnswers: readonly string[]): string[] {
  const { answer, modelCalls, searchTurns, segments } = lane.trajectory;
  const verdict = exactMatch(answer, goldenAnswers) ? '✓ ' : '✗ ';
  const numTokens = sum(segments, ({ kind, tokenIds }) =>
    kind === 'policy' ? tokenIds.length : 0,
  );
  const numQueries = sum(searchTurns, ({ queries }) => queries.length);
  return [
    `${goldenAnswers.length > 0 ? verdict : ''}${answer ?? 'none'}`,
    ...[modelCalls, searchTurns.length, numQueries, numTokens].map(String),
    seconds(totalTime(lane.spans, 'search')),
    seconds(endTime(lane)),
  ];
}

/** Says which method was faster. */
export function speedSentence(lanes: readonly FinishedLane[]): string {
  const [first, last] = sort(lanes, endTime);
  const ratio = endTime(last) / endTime(first);
  if (ratio < 1.05) return 'Both took the same time.';
  return `${first.title} took ${seconds(endTime(first))}, ${last.title} ${ratio.toFixed(1)} times as long.`;
}

/** All methods in a table. @param goldenAnswers empty if unknown */
export function outcomesNode(
  lanes: readonly FinishedLane[],
  goldenAnswers: readonly string[],
): HTMLElement {
  const gold = goldenAnswers.length > 0 ? `. Gold answer: ${goldenAnswers.join(' / ')}` : '';
  const rows = lanes.map((lane) => {
    const cells = outcomeCells(lane, goldenAnswers).map((cell) => h('td', cell));
    return h('tr', h('th', { scope: 'row' }, lane.title), cells);
  });
  return scrollable('Comparison', table(`Comparison${gold}`, COLUMNS, rows));
}
