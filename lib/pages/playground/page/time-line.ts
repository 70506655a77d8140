/** Who did what when: a lane for each method, the model and the retriever taking turns in it. */
import { searchedQueries } from '../../../rollout/rollout.js';
import { element } from '../../viewer/page/dom.js';
import type { AnswerEvent } from '../answer.js';
import type { PlaygroundMethod } from '../setup.js';

/** An uninterrupted piece of work; milliseconds from the question. */
export interface Stretch {
  kind: 'model' | 'search';
  fromMs: number;
  toMs: number;
  /** Sub-queries of a search, tokens of the model. */
  count: number;
}

/** A lane after one more event; the last stretch may still go on. */
export function addToLane(
  lane: readonly Stretch[],
  event: AnswerEvent,
  { rollout }: Pick<PlaygroundMethod, 'rollout'>,
): Stretch[] {
  const { elapsedMs: toMs } = event;
  const begin = (kind: Stretch['kind'], count: number): Stretch => ({ kind, fromMs: toMs, toMs, count });
  const last = lane.at(-1);
  if (!last) return [{ ...begin('model', 0), fromMs: 0 }]; // the prompt
  const numNew = event.kind === 'token' ? 1 : 0;
  const soFar = [...lane.slice(0, -1), { ...last, toMs, count: last.count + numNew }];
  if (event.kind !== 'segment') return soFar;
  if (event.segment === 'information') return [...soFar, begin('model', 0)];
  const queries = event.segment === 'policy' ? searchedQueries(event.text, rollout) : null;
  return queries ? [...soFar, begin('search', queries.length)] : soFar;
}

/** Milliseconds of a lane that were spent on one kind of work. */
export function timeOf(lane: readonly Stretch[], kind: Stretch['kind']): number {
  return lane.filter((stretch) => stretch.kind === kind).reduce((sum, s) => sum + s.toMs - s.fromMs, 0);
}

/** At most seven round times from 0 to `endMs`. */
export function ticksOf(endMs: number): number[] {
  const steps = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000];
  const step = steps.find((ms) => endMs / ms <= 6) ?? 60_000;
  return Array.from({ length: Math.floor(endMs / step) + 1 }, (_, i) => i * step);
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const described = ({ kind, count, fromMs, toMs }: Stretch): string =>
  kind === 'model'
    ? `the model writes ${count} tokens, ${seconds(toMs - fromMs)}`
    : `${count} ${count === 1 ? 'sub-query is' : 'sub-queries are'} searched, ${seconds(toMs - fromMs)}`;

function stretchNode(stretch: Stretch, endMs: number): HTMLElement {
  const { kind, fromMs, toMs, count } = stretch;
  const percent = (ms: number): string => `${(100 * ms) / endMs}%`;
  return element(
    'span',
    {
      class: `stretch ${kind}`,
      style: `left: ${percent(fromMs)}; width: ${percent(toMs - fromMs)}`,
      title: described(stretch),
    },
    kind === 'search' ? `${count}×` : '',
  );
}

export interface Lane {
  title: string;
  stretches: readonly Stretch[];
  /** Whether the method has not answered yet. */
  isRunning: boolean;
}

/** The lanes at a moment; what is going on reaches to `nowMs`. */
function lanesNode(lanes: readonly Lane[], nowMs: number): HTMLElement {
  const drawn = lanes.map(({ title, stretches, isRunning }) => {
    const last = stretches.at(-1);
    const open =
      last && isRunning
        ? [...stretches.slice(0, -1), { ...last, toMs: Math.max(last.toMs, nowMs) }]
        : stretches;
    return { title, stretches: open, totalMs: open.at(-1)?.toMs ?? 0 };
  });
  const endMs = Math.max(1000, ...drawn.map(({ totalMs }) => totalMs));
  const rows = drawn.map(({ title, stretches, totalMs }) =>
    element(
      'div',
      { class: 'lane' },
      element('span', { class: 'lane-title' }, title),
      element('div', { class: 'track' }, ...stretches.map((stretch) => stretchNode(stretch, endMs))),
      element('span', { class: 'lane-total' }, seconds(totalMs)),
    ),
  );
  const ticks = ticksOf(endMs).map((ms) =>
    element('span', { class: 'tick', style: `left: ${(100 * ms) / endMs}%` }, String(ms / 1000)),
  );
  const axis = element(
    'div',
    { class: 'lane axis' },
    element('span', { class: 'lane-title' }, 'seconds'),
    element('div', { class: 'track' }, ...ticks),
  );
  const description = drawn
    .map(({ title, stretches }) => `${title}: ${stretches.map(described).join('; ') || 'nothing yet'}.`)
    .join(' ');
  return element('div', { class: 'lanes', role: 'img', 'aria-label': description }, ...rows, axis);
}

export interface TimeLine {
  node: HTMLElement;
  draw(lanes: readonly Lane[], nowMs: number): void;
}

export function createTimeLine(): TimeLine {
  const place = element('div');
  const key = element(
    'span',
    { class: 'key' },
    element('span', { class: 'stretch model' }, 'the model writes'),
    ' ',
    element('span', { class: 'stretch search' }, 'n× sub-queries are searched together'),
  );
  const node = element(
    'figure',
    { class: 'time-line', 'aria-label': 'Time line of the turns' },
    element('figcaption', {}, 'Time line of the turns. ', key),
    place,
  );
  return { node, draw: (lanes, nowMs) => place.replaceChildren(lanesNode(lanes, nowMs)) };
}
