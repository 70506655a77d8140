/**
 * Who did what when: a lane for each method, the model and the retriever taking turns in
 * it.
 */
import { sum } from 'd3-array';
import { h } from '../../../html/browser/dom.js';
import { searchedQueries } from '../../../rollout/rollout.js';
import type { AnswerEvent } from '../../../rollout/answer.js';
import type { PlaygroundMethod } from '../setup.js';

/** An uninterrupted piece of work; milliseconds from the question. */
export interface Span {
  kind: 'model' | 'search';
  fromMs: number;
  toMs: number;
  /** Sub-queries of a search, tokens of the model. */
  count: number;
}

/** A lane's spans after one more event; the last one may still go on. */
export function addToLane(
  spans: readonly Span[],
  event: AnswerEvent,
  { rollout }: Pick<PlaygroundMethod, 'rollout'>,
): Span[] {
  const { elapsedMs: toMs } = event;
  const begin = (kind: Span['kind'], count: number): Span => ({ kind, fromMs: toMs, toMs, count });
  const last = spans.at(-1);
  if (!last) return [{ ...begin('model', 0), fromMs: 0 }]; // the prompt
  const numNew = event.kind === 'token' ? 1 : 0;
  const soFar = [...spans.slice(0, -1), { ...last, toMs, count: last.count + numNew }];
  if (event.kind !== 'segment') return soFar;
  if (event.segment === 'information') return [...soFar, begin('model', 0)];
  const queries = event.segment === 'policy' ? searchedQueries(event.text, rollout) : null;
  return queries ? [...soFar, begin('search', queries.length)] : soFar;
}

/** Milliseconds that were spent on one kind of work. */
export function timeOf(spans: readonly Span[], kind: Span['kind']): number {
  return sum(spans, (span) => (span.kind === kind ? span.toMs - span.fromMs : 0));
}

/** At most seven round times from 0 to `endMs`. */
export function ticksOf(endMs: number): number[] {
  const steps = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000];
  const step = steps.find((ms) => endMs / ms <= 6) ?? 60_000;
  return Array.from({ length: Math.floor(endMs / step) + 1 }, (_, i) => i * step);
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const described = ({ kind, count, fromMs, toMs }: Span): string =>
  kind === 'model'
    ? `the model writes ${count} tokens, ${seconds(toMs - fromMs)}`
    : `${count} ${count === 1 ? 'sub-query is' : 'sub-queries are'} searched, ${seconds(toMs - fromMs)}`;

export interface Lane {
  title: string;
  spans: readonly Span[];
  /** Whether the method has not answered yet. */
  isRunning: boolean;
}

const laneNode = (title: string, work: Node[], total = ''): HTMLElement =>
  h(
    'div.lane',
    h('span.lane-title', title),
    h('div.track', work),
    total && h('span.lane-total', total),
  );

/**
 * The spans of a lane; the last one of a method that still goes on lasts up to `nowMs`.
 */
const spansUntil = ({ spans, isRunning }: Lane, nowMs: number): Span[] =>
  spans.map((span, i) =>
    isRunning && i === spans.length - 1 ? { ...span, toMs: Math.max(span.toMs, nowMs) } : span,
  );

function lanesNode(running: readonly Lane[], nowMs: number): HTMLElement {
  const lanes = running.map((lane) => ({ title: lane.title, spans: spansUntil(lane, nowMs) }));
  const totalMs = lanes.map(({ spans }) => spans.at(-1)?.toMs ?? 0);
  const endMs = Math.max(1000, ...totalMs);
  const percent = (ms: number): string => `${(100 * ms) / endMs}%`;
  const spanNode = (span: Span): HTMLElement => {
    const { kind, fromMs, toMs, count } = span;
    const style = `left: ${percent(fromMs)}; width: ${percent(toMs - fromMs)}`;
    return h(
      `span.work.${kind}`,
      { style, title: described(span) },
      kind === 'search' && `${count}×`,
    );
  };
  const rows = lanes.map(({ title, spans }, i) =>
    laneNode(title, spans.map(spanNode), seconds(totalMs[i])),
  );
  const ticks = ticksOf(endMs).map((ms) =>
    h('span.tick', { style: `left: ${percent(ms)}` }, `${ms / 1000}`),
  );
  const axis = laneNode('seconds', ticks);
  axis.classList.add('axis');
  const words = lanes.map(
    ({ title, spans }) => `${title}: ${spans.map(described).join('; ') || 'nothing yet'}.`,
  );
  return h('div.lanes', { role: 'img', 'aria-label': words.join(' ') }, rows, axis);
}

/** A figure of all lanes, empty at first. */
export function createTimeLine() {
  const place = h('div');
  const key = [
    h('span.work.model', 'the model writes'),
    ' ',
    h('span.work.search', 'n× sub-queries are searched together'),
  ];
  const caption = h('figcaption', 'Time line of the turns. ', h('span.key', key));
  return {
    node: h('figure.time-line', { 'aria-label': 'Time line of the turns' }, caption, place),
    /** Draws the lanes; the last span of those that still go on lasts up to `nowMs`. */
    draw(lanes: readonly Lane[], nowMs: number): void {
      place.replaceChildren(lanesNode(lanes, nowMs));
    },
  };
}
