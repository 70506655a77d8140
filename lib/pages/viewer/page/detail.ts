/** One trajectory in full. */
import type { ViewerData, ViewerQuestion, ViewerTrajectory } from '../data.js';
import { componentTitle } from '../../../rewards/reward.js';
import { FAILURE_SIGNS } from '../signs.js';
import { element, signed, type Child } from './dom.js';
import { drawDiagram } from './drawing.js';
import { policyDiagram, questionDiagram, type Diagram } from './graph.js';
import { aboveMean, type Groups } from './groups.js';
import { segmentsNode } from '../../../html/segments.js';

export interface DetailOptions {
  data: ViewerData;
  groups: Groups;
  /** Called with the rollout of the group that was picked. */
  onPick: (index: number) => void;
}

const verdict = ({ exactMatch }: ViewerTrajectory): string => (exactMatch ? '✓ right' : '✗ wrong');

function factsNode(trajectory: ViewerTrajectory, question: ViewerQuestion): HTMLElement {
  const { answer, f1, finish, coverage, step, numTurns } = trajectory;
  const known = [question.id, question.benchmark, question.type, question.shape].filter(
    (fact) => fact && fact !== 'unknown',
  );
  const facts: [string, string | null][] = [
    ['Method', trajectory.method],
    ['Step', step === null ? null : String(step)],
    ['Question', known.join(' · ')],
    ['Gold', question.goldenAnswers.join(' / ')],
    ['Answer', `${answer ?? 'none'} (${verdict(trajectory)}, F1 ${f1.toFixed(2)})`],
    ['Search turns', String(numTurns)],
    ['Ended by', finish],
    ['Independent parts asked', coverage === null ? null : `${Math.round(100 * coverage)} %`],
  ];
  const told = facts.filter((fact): fact is [string, string] => fact[1] !== null);
  const items = told.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]);
  return element('dl', { class: 'facts' }, ...items);
}

function signsNode({ signs, formatReason }: ViewerTrajectory): HTMLElement | null {
  if (signs.length === 0) return null;
  const items = signs.map((sign) => {
    const why = sign === 'badFormat' && formatReason ? `: ${formatReason}` : '';
    return element('li', {}, `${FAILURE_SIGNS[sign]}${why}`);
  });
  return element('ul', { class: 'signs', 'aria-label': 'Failure signs' }, ...items);
}

/** A bar from zero to the left or to the right; `share` is in [-1, 1]. */
function barNode(share: number): HTMLElement {
  const width = 50 * Math.min(1, Math.abs(share));
  const style = `width: ${width}%; left: ${share < 0 ? 50 - width : 50}%`;
  return element(
    'span',
    { class: `bar ${share < 0 ? 'below' : 'above'}`, 'aria-hidden': 'true' },
    element('span', { style }),
  );
}

function rewardsNode({ rewards, recorded }: ViewerTrajectory, preset: string): HTMLElement {
  const { total, ...parts } = rewards;
  const rows = Object.entries({ ...parts, total }).map(([name, value]) =>
    element(
      'tr',
      { class: name === 'total' ? name : null },
      element('th', { scope: 'row' }, componentTitle(name)),
      element('td', { class: 'figure' }, signed(value)),
      element('td', {}, barNode(value / 1.5)),
    ),
  );
  const source = recorded ? 'as recorded' : `computed with the preset ${preset}`;
  return element(
    'table',
    { class: 'rewards' },
    element('caption', {}, `Reward, ${source}`),
    element('tbody', {}, ...rows),
  );
}

/** The rollouts of the group with their rewards and advantages; null where there is only one and no advantage. */
function groupNode(index: number, { data, groups, onPick }: DetailOptions): HTMLElement | null {
  const group = groups.groupOf(index);
  const trajectories = group.map((i) => data.trajectories[i]);
  if (group.length === 1 && trajectories[0].advantage === null) return null;
  const hasAdvantages = trajectories.every(({ advantage }) => advantage !== null);
  const values = hasAdvantages
    ? trajectories.map(({ advantage }) => advantage ?? 0)
    : aboveMean(trajectories.map(({ rewards }) => rewards.total));
  const largest = Math.max(1e-9, ...values.map(Math.abs));
  const rows = trajectories.map((trajectory, k) => {
    const isThis = group[k] === index;
    const pick = element('button', { type: 'button', 'aria-current': isThis ? 'true' : null }, `${k + 1}`);
    pick.addEventListener('click', () => onPick(group[k]));
    return element(
      'tr',
      { class: isThis ? 'this' : null },
      element('th', { scope: 'row' }, pick),
      element('td', {}, verdict(trajectory)),
      element('td', { class: 'figure' }, signed(trajectory.rewards.total)),
      element('td', { class: 'figure' }, signed(values[k])),
      element('td', {}, barNode(values[k] / largest)),
    );
  });
  const head = ['Rollout', 'Answer', 'Reward', hasAdvantages ? 'Advantage' : 'Above mean', ''];
  const cells = head.map((name) => (name ? element('th', { scope: 'col' }, name) : element('td')));
  return element(
    'table',
    { class: 'group' },
    element('caption', {}, `Its group: ${group.length} rollouts of the question, method and step`),
    element('thead', {}, element('tr', {}, ...cells)),
    element('tbody', {}, ...rows),
  );
}

function figureNode(title: string, diagram: Diagram): HTMLElement {
  const drawing = element(
    'div',
    // A region would be a landmark, and two trajectories side by side have every landmark twice.
    { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': title },
    drawDiagram(diagram),
  );
  const caption = element('figcaption', {}, title);
  return element('figure', { class: 'diagram', 'aria-label': title }, caption, drawing);
}

/** The question's graph, where it is known, beside what the policy did. */
function diagramsNode(trajectory: ViewerTrajectory, question: ViewerQuestion, data: ViewerData): HTMLElement {
  const turns = trajectory.turns.map((turn) => data.turns[turn]);
  const { graph } = question;
  return element(
    'div',
    { class: 'diagrams' },
    graph ? figureNode('What the question needs', questionDiagram(question, graph, turns)) : null,
    figureNode('What the policy did', policyDiagram(trajectory, graph, turns)),
  );
}

/** The article of a trajectory. */
export function detailNode(index: number, options: DetailOptions): HTMLElement {
  const { data } = options;
  const trajectory = data.trajectories[index];
  const question = data.questions[trajectory.question];
  const children: Child[] = [
    element('h2', {}, question.question),
    factsNode(trajectory, question),
    signsNode(trajectory),
    diagramsNode(trajectory, question, data),
    element('div', { class: 'scores' }, rewardsNode(trajectory, data.preset), groupNode(index, options)),
    segmentsNode(trajectory, data),
  ];
  const label = `${trajectory.method}: ${question.question}`;
  return element(
    'article',
    { class: trajectory.exactMatch ? 'right' : 'wrong', 'aria-label': label },
    ...children,
  );
}
