/** One trajectory in full. */
import { h, table } from '../../../html/browser/dom.js';
import { segmentsMarkup } from '../../../html/segments.js';
import { componentTitle } from '../../../rewards/reward.js';
import type { ViewerData, ViewerQuestion, ViewerTrajectory } from '../data.js';
import { FAILURE_SIGNS, type FailureSign } from '../signs.js';
import { drawDiagram } from './drawing.js';
import { policyDiagram, questionDiagram, type Diagram } from './graph.js';
import { aboveMean, groupOf } from './groups.js';

export interface DetailOptions {
  data: ViewerData;
  /** Called with the rollout of the group that was picked. */
  onPick: (index: number) => void;
}

/** What comes of an answer, in the list, in the facts and in a group. */
export const verdictOf = ({ exactMatch }: ViewerTrajectory): string =>
  exactMatch ? '✓ right' : '✗ wrong';

/** A number to two places with its sign; zero has none. */
export function signed(value: number): string {
  const figure = Math.abs(value).toFixed(2);
  return Number(figure) === 0 ? figure : `${value < 0 ? '−' : '+'}${figure}`;
}

function factsNode(trajectory: ViewerTrajectory, question: ViewerQuestion): HTMLElement {
  const { answer, f1, finish, coverage, step, numTurns } = trajectory;
  const known = [question.id, question.benchmark, question.type, question.shape];
  const facts: Record<string, string | null> = {
    Method: trajectory.method,
    Step: step === null ? null : String(step),
    Question: known.filter((fact) => fact && fact !== 'unknown').join(' · '),
    Gold: question.goldenAnswers.join(' / '),
    Answer: `${answer ?? 'none'} (${verdictOf(trajectory)}, F1 ${f1.toFixed(2)})`,
    'Search turns': String(numTurns),
    'Ended by': finish,
    'Independent parts asked': coverage === null ? null : `${Math.round(100 * coverage)} %`,
  };
  const told = Object.entries(facts).filter(([, value]) => value !== null);
  return h(
    'dl.facts',
    told.map(([name, value]) => [h('dt', name), h('dd', value)]),
  );
}

function signsNode({ signs, formatReason, ambiguous }: ViewerTrajectory): HTMLElement | null {
  if (signs.length === 0) return null;
  const reasons: Partial<Record<FailureSign, string | null>> = {
    badFormat: formatReason,
    ambiguous,
  };
  const items = signs.map((sign) => {
    const why = reasons[sign];
    return h('li', `${FAILURE_SIGNS[sign].title}${why ? `: ${why}` : ''}`);
  });
  return h('ul.signs', { 'aria-label': 'Failure signs' }, items);
}

/** A number, and a bar from zero to the left or to the right that is full at `most`. */
function barCells(value: number, most: number): HTMLElement[] {
  const width = 50 * Math.min(1, Math.abs(value / most));
  const style = `width: ${width}%; left: ${value < 0 ? 50 - width : 50}%`;
  const bar = h(
    `span.bar.${value < 0 ? 'below' : 'above'}`,
    { 'aria-hidden': 'true' },
    h('span', { style }),
  );
  return [h('td.figure', signed(value)), h('td', bar)];
}

/**
 * Every component of the reward, also those that this project does not know, then their
 * sum.
 */
function rewardsNode({ rewards, recorded }: ViewerTrajectory, preset: string): HTMLElement {
  const { total, ...components } = rewards;
  const rows = Object.entries({ ...components, total }).map(([name, value]) => {
    const selector = name === 'total' ? 'tr.total' : 'tr';
    return h(selector, h('th', { scope: 'row' }, componentTitle(name)), barCells(value, 1.5));
  });
  return table(
    `Reward, ${recorded ? 'as recorded' : `computed with the preset ${preset}`}`,
    [],
    rows,
  );
}

/**
 * The rollouts of the group with their rewards and advantages; null where there is only
 * one and no advantage.
 */
function groupNode(index: number, { data, onPick }: DetailOptions): HTMLElement | null {
  const group = groupOf(data, index);
  const trajectories = group.map((i) => data.trajectories[i]);
  if (group.length === 1 && trajectories[0].advantage === null) return null;
  const hasAdvantages = trajectories.every(({ advantage }) => advantage !== null);
  const values = hasAdvantages
    ? trajectories.map(({ advantage }) => advantage ?? 0)
    : aboveMean(trajectories.map(({ rewards }) => rewards.total));
  const largest = Math.max(1e-9, ...values.map(Math.abs));
  const rows = trajectories.map((trajectory, k) => {
    const isThis = group[k] === index;
    const attributes = { type: 'button', 'aria-current': isThis && 'true' };
    const pick = h('button', { ...attributes, onclick: () => onPick(group[k]) }, `${k + 1}`);
    return h(
      isThis ? 'tr.this' : 'tr',
      h('th', { scope: 'row' }, pick),
      h('td', verdictOf(trajectory)),
      h('td.figure', signed(trajectory.rewards.total)),
      barCells(values[k], largest),
    );
  });
  const caption = `Its group: ${group.length} rollouts of the question, method and step`;
  const standing = hasAdvantages ? 'Advantage' : 'Above mean';
  const node = table(caption, ['Rollout', 'Answer', 'Reward', standing, ''], rows);
  node.className = 'group';
  return node;
}

function figureNode(title: string, diagram: Diagram): HTMLElement {
  // A region would be a landmark, and two trajectories side by side have every landmark
  // twice.
  const scroll = { tabindex: 0, role: 'group', 'aria-label': title };
  return h(
    'figure.diagram',
    { 'aria-label': title },
    h('figcaption', title),
    h('div.scroll', scroll, drawDiagram(diagram)),
  );
}

/**
 * The article of a trajectory: among others the question's graph, where it is known,
 * beside what the policy did.
 */
export function detailNode(index: number, options: DetailOptions): HTMLElement {
  const { data } = options;
  const trajectory = data.trajectories[index];
  const question = data.questions[trajectory.question];
  const { graph } = question;
  const turns = trajectory.turns.map((place) => data.turns[place]);
  const segments = trajectory.segments.map(([kind, place]) => ({ kind, text: data.texts[place] }));
  return h(
    `article.${trajectory.exactMatch ? 'right' : 'wrong'}`,
    { 'aria-label': `${trajectory.method}: ${question.question}` },
    h('h2', question.question),
    factsNode(trajectory, question),
    signsNode(trajectory),
    h(
      'div.diagrams',
      graph && figureNode('What the question needs', questionDiagram(question, graph, turns)),
      figureNode('What the policy did', policyDiagram(trajectory, graph, turns)),
    ),
    h('div.scores', rewardsNode(trajectory, data.preset), groupNode(index, options)),
    segmentsMarkup(segments, turns),
  );
}
