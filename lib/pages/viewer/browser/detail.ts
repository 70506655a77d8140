/** Shows one trajectory in full. */
import { mean } from 'd3-array';
import { segmentsMarkup } from '../../../report/segments.js';
import { decimalText } from '../../../text/english.js';
import { h, scrollable, table } from '../../browser/dom.js';
import type { ViewerData, ViewerLabel, ViewerTrajectory } from '../data.js';
import { drawDiagram, policyDiagram, questionDiagram } from './diagram.js';
import { findGroup } from './filter.js';

interface DetailOptions {
  data: ViewerData;
  /** Called with a rollout picked from the group. */
  onPick: (index: number) => void;
}

export const verdict = ({ exactMatch }: ViewerTrajectory): string =>
  exactMatch ? '✓ right' : '✗ wrong';

/** Adds a sign, except to zero. */
export function signed(value: number): string {
  const figure = decimalText(Math.abs(value), 2);
  return value === 0 ? figure : `${value < 0 ? '−' : '+'}${figure}`;
}

/** Rewards minus their mean, in place of advantages that were not recorded. */
export const aboveMean = (totals: readonly number[]): number[] =>
  totals.map((total) => total - mean(totals)!);

function factsNode(trajectory: ViewerTrajectory): HTMLElement {
  const { metadata, answer, f1, step, subQuestionRecall: recall } = trajectory;
  // The benchmark's own type may equal ours.
  const types = [metadata.type, trajectory.questionType].map((type) => type?.replace('_', ' '));
  const facts: Record<string, string | null> = {
    Method: trajectory.method,
    Step: step === undefined ? null : String(step),
    Question: [trajectory.questionId, metadata.benchmark, ...new Set(types)]
      .filter(Boolean)
      .join(' · '),
    'Gold answer': trajectory.goldenAnswers.join(' / '),
    Answer: `${answer ?? 'none'} (${verdict(trajectory)}, F1 ${decimalText(f1, 2)})`,
    'Search turns': String(trajectory.numTurns),
    'Critical steps': `${trajectory.criticalSteps} of ${trajectory.totalSteps}`,
    'Ended by': trajectory.finish,
    'Sub-question recall': recall === undefined ? null : `${Math.round(100 * recall)} %`,
  };
  const shown = Object.entries(facts).filter(([, value]) => value !== null);
  return h(
    'dl.facts',
    shown.map(([name, value]) => [h('dt', name), h('dd', value)]),
  );
}

function labelsNode(
  { labels, formatReason, ambiguous }: ViewerTrajectory,
  { labelTitles, labelMeanings }: ViewerData,
): HTMLElement | null {
  if (labels.length === 0) return null;
  const reasons: Partial<Record<ViewerLabel, string | null>> = {
    malformed: formatReason,
    ambiguous,
  };
  const items = labels.map((label) => {
    const text = [labelTitles[label], reasons[label]].filter(Boolean).join(': ');
    return h('li', { title: labelMeanings[label] ?? false }, text);
  });
  return h('ul.labels', { 'aria-label': 'Behaviour' }, items);
}

/** A number, and a bar to the left or right of zero; `most` fills it. */
function barCells(value: number, most: number): HTMLElement[] {
  const width = 50 * Math.min(1, Math.abs(value / most));
  const style = `width: ${width}%; left: ${value < 0 ? 50 - width : 50}%`;
  const direction = value < 0 ? 'below' : 'above';
  const bar = h(`span.bar.${direction}`, { 'aria-hidden': 'true' }, h('span', { style }));
  return [h('td.figure', signed(value)), h('td', bar)];
}

/** Turns `search_count` into `Search count`. */
function componentTitle(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Every reward component, including unknown ones, and the total. */
function rewardsNode({ rewards, isRecorded }: ViewerTrajectory, preset: string): HTMLElement {
  const { total, ...components } = rewards;
  const rows = Object.entries({ ...components, total }).map(([name, value]) => {
    const selector = name === 'total' ? 'tr.total' : 'tr';
    return h(selector, h('th', { scope: 'row' }, componentTitle(name)), barCells(value, 1.5));
  });
  return table(`Reward, ${isRecorded ? 'as recorded' : `preset ${preset}`}`, [], rows);
}

/** The rollouts of the group; null for a single rollout without an advantage. */
function groupNode(index: number, { data, onPick }: DetailOptions): HTMLElement | null {
  const group = findGroup(data, index);
  const trajectories = group.map((i) => data.trajectories[i]);
  if (group.length === 1 && trajectories[0].advantage === undefined) return null;
  const hasAdvantages = trajectories.every(({ advantage }) => advantage !== undefined);
  const values = hasAdvantages
    ? trajectories.map(({ advantage }) => advantage ?? 0)
    : aboveMean(trajectories.map(({ rewards }) => rewards.total));
  const largest = Math.max(1e-9, ...values.map(Math.abs));
  const rows = trajectories.map((trajectory, k) => {
    const isCurrent = group[k] === index;
    const attributes = { type: 'button', 'aria-current': isCurrent && 'true' };
    const pick = h('button', { ...attributes, onclick: () => onPick(group[k]) }, `${k + 1}`);
    return h(
      isCurrent ? 'tr.current' : 'tr',
      h('th', { scope: 'row' }, pick),
      h('td', verdict(trajectory)),
      h('td.figure', signed(trajectory.rewards.total)),
      barCells(values[k], largest),
    );
  });
  const caption = `Group: ${group.length} rollouts of this question, method and step`;
  const standing = hasAdvantages ? 'Advantage' : 'Above mean';
  const node = table(caption, ['Rollout', 'Answer', 'Reward', standing, ''], rows);
  node.className = 'group';
  return node;
}

function figureNode(title: string, columns: Parameters<typeof drawDiagram>[1]): HTMLElement {
  const drawing = scrollable(title, drawDiagram(title, columns));
  return h('figure.diagram', { 'aria-label': title }, h('figcaption', title), drawing);
}

export function detailNode(index: number, options: DetailOptions): HTMLElement {
  const trajectory = options.data.trajectories[index];
  const { method, question, metadata, turns, exactMatch } = trajectory;
  const hasGraph = Boolean(metadata.graph?.length);
  return h(
    `article.${exactMatch ? 'right' : 'wrong'}`,
    { 'aria-label': `${method}: ${question}` },
    h('h2', question),
    factsNode(trajectory),
    labelsNode(trajectory, options.data),
    h(
      'div.diagrams',
      hasGraph && figureNode('Question graph', questionDiagram(trajectory)),
      figureNode('Searches and answer', policyDiagram(trajectory)),
    ),
    h('div.scores', rewardsNode(trajectory, options.data.preset), groupNode(index, options)),
    segmentsMarkup(trajectory, turns),
  );
}
