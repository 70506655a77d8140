/** Rollouts of training runs by step, with a slider through the steps. */
import { group } from 'd3-array';
import { markup, markupHtml, type Content, type Markup } from '../../report/markup.js';
import { segmentsMarkup } from '../../report/segments.js';
import { figureText } from '../../report/text.js';
import type { Trajectory } from '../../rollout/trajectory.js';
import { plural } from '../../text/english.js';
import { packedElement } from '../page.js';

/** Maximum number of rollout groups shown per step. */
const MAX_GROUPS = 8;

/** The rollouts of a step by question, each folded behind a summary. */
export function stepRollouts(rollouts: readonly Trajectory[], maxGroups = MAX_GROUPS): Content {
  if (rollouts.length === 0) return markup('p', 'No rollouts recorded.');
  const groups = [
    ...group(rollouts, ({ questionId, question }) => `${questionId}\n${question}`).values(),
  ];
  const shown = groups.slice(0, maxGroups);
  const first = shown.length < groups.length ? ` (first ${shown.length} shown)` : '';
  const counts = `${rollouts.length} rollouts of ${groups.length} questions${first}`;
  const intro = `Step ${rollouts[0].step}: ${counts}. A positive advantage makes a rollout more likely, a negative one less.`;
  return [markup('p', intro), shown.map(groupMarkup)];
}

const groupMarkup = (rollouts: readonly Trajectory[]): Markup[] => [
  markup('h3', rollouts[0].question || rollouts[0].questionId),
  markup('p.gold', `Gold answer: ${rollouts[0].goldenAnswers.join(' / ')}`),
  ...rollouts.map((run, i) =>
    markup(
      'details.rollout',
      markup('summary', [`Rollout ${i + 1}`, ...rolloutFacts(run)].join(' · ')),
      segmentsMarkup(run, run.searchTurns),
    ),
  ),
];

/** The rollouts of a run, or where a page can request them. */
export interface SteppedRollouts {
  name: string;
  /** All steps, and the prefix of a request for one. Default: as in `rollouts`. */
  live?: { steps: readonly number[]; source: string };
  /** The newest rollouts, plus earlier ones in a standalone page. */
  rollouts: ReadonlyMap<number, readonly Trajectory[]>;
}

const newest = (rollouts: SteppedRollouts['rollouts']): number => Math.max(...rollouts.keys());

/** Number of groups that a page carries for a step other than the newest. */
const CARRIED_GROUPS = 2;

/**
 * A slider through the steps of runs, with the rollouts of a step. A live page requests
 * those that it does not carry.
 */
export function rolloutSlider(runs: readonly SteppedRollouts[]): Content {
  const filled = runs.filter(({ rollouts }) => rollouts.size > 0);
  if (filled.length === 0) return markup('p', 'No rollouts recorded.');
  const carried = filled.map(({ name, rollouts, live }) => ({
    name,
    source: live?.source,
    steps: live?.steps ?? [...rollouts.keys()],
    html: Object.fromEntries(
      [...rollouts].map(([step, ofStep]) => {
        const maxGroups = step === newest(rollouts) ? MAX_GROUPS : CARRIED_GROUPS;
        return [step, markupHtml(stepRollouts(ofStep, maxGroups))];
      }),
    ),
  }));
  const [{ rollouts }] = filled;
  const [{ steps }] = carried;
  const last = steps.length - 1;
  const isOnly = carried.length === 1;
  const names = carried.map(({ name }) => markup('option', name));
  const range = { type: 'range', id: 'rollouts-step', min: 0, max: last, value: last };
  const output = markup('output', { for: range.id }, String(steps[last]));
  const runChoice = markup('select', { id: 'rollouts-run' }, names);
  return [
    markup(
      'p.knobs',
      markup('label', { hidden: isOnly }, 'Run ', runChoice),
      markup(
        'label.wide',
        { hidden: last === 0 && isOnly },
        'Step ',
        markup('input', range),
        output,
      ),
    ),
    markup('div', { id: 'rollouts-shown' }, stepRollouts(rollouts.get(newest(rollouts))!)),
    packedElement('rollouts-carried', JSON.stringify(carried)),
  ];
}

/** Summarises a rollout. @param isCorrect default: by the recorded outcome reward */
export function rolloutFacts(
  { searchTurns, rewards, advantage }: Trajectory,
  isCorrect = rewards && 'outcome' in rewards ? rewards.outcome === 1 : undefined,
): string[] {
  return [
    ...(isCorrect === undefined ? [] : [isCorrect ? '✓ right' : '✗ wrong']),
    plural(searchTurns.length, 'turn'),
    ...(rewards ? [`reward ${figureText(rewards.total, 2)}`] : []),
    ...(advantage === undefined ? [] : [`advantage ${figureText(advantage, 2)}`]),
  ];
}
