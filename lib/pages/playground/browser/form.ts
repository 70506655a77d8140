/** What to ask, of which weights, and how fast model and retriever are. */
import { group, sort } from 'd3-array';
import { questionShape, type Question } from '../../../data/question.js';
import { h, labelled, select } from '../../../html/browser/dom.js';
import type { PlaygroundCheckpoint, PlaygroundSetup } from '../setup.js';
import { seconds } from './time-line.js';

export interface Wish {
  question: string;
  /** Empty where the question is not one of the small world's. */
  goldenAnswers: string[];
  delayMs: number;
  tokensPerSecond: number;
}

export interface FormOptions {
  questions: readonly Question[];
  setup: Pick<PlaygroundSetup, 'checkpoints' | 'firstCheckpoint' | 'firstQuestion' | 'methods'>;
  onAsk: (wish: Wish) => void;
  onStop: () => void;
  onCheckpoint: () => void;
}

/** Tokens a second; 0 is no limit. */
const PACES = [
  ['40', '40 tokens a second'],
  ['100', '100 tokens a second'],
  ['10', '10 tokens a second'],
  ['0', 'as fast as this computer'],
] as const;
const DELAY = { min: 0, max: 3000, step: 100, value: 1000 };

/** What a question needs, in words from its dependency graph; without one, its type. */
export function kindOf({ metadata: { graph = [], type } }: Question): string {
  if (graph.length === 0) return type ?? 'all';
  return {
    single_hop: 'one fact',
    parallelizable: `${graph.length} things compared`,
    sequential: `a chain of ${graph.length} steps`,
    hybrid: 'two chains side by side',
  }[questionShape(graph)];
}

/** Questions of each kind, kinds in the order of their names. */
export const groupByKind = (questions: readonly Question[]): Map<string, Question[]> =>
  new Map(sort(group(questions, kindOf), ([a], [b]) => a.localeCompare(b)));

/**
 * A field to type a question into or to pick one from the list of its kind, a choice of
 * the kind, a button for another.
 */
function createQuestionField(questions: readonly Question[], firstQuestion?: string) {
  if (questions.length === 0)
    return [
      labelled('Question', h('input', { name: 'question', required: true }), 'label.question'),
    ];
  const groups = groupByKind(questions);
  const kind = select(
    'kind',
    [...groups].map(([name, { length }]) => [name, `${name} (${length})`]),
  );
  const first = questions.find(({ question }) => question === firstQuestion);
  if (first) kind.value = kindOf(first);
  const list = h('datalist', { id: 'questions' });
  const settings = { list: list.id, required: true, autocomplete: 'off', spellcheck: 'false' };
  const input = h('input', { name: 'question', ...settings });
  const ofKind = (): Question[] => groups.get(kind.value)!;
  const fill = (): void => {
    list.replaceChildren(...ofKind().map(({ question: value }) => h('option', { value })));
    input.value = ofKind()[0].question;
  };
  const pick = (): void => {
    input.value = ofKind()[Math.floor(Math.random() * ofKind().length)].question;
  };
  kind.addEventListener('change', fill);
  fill();
  if (first) input.value = first.question;
  return [
    labelled('Kind of question', kind, 'label.kind'),
    labelled('Question', input, 'label.question'),
    h('button', { type: 'button', name: 'another', onclick: pick }, 'Another question'),
    list,
  ];
}

function createDelayField(): HTMLElement {
  const label = 'Retrieval takes';
  const output = h('output');
  const input = h('input', { type: 'range', name: 'delay', 'aria-label': label, ...DELAY });
  const show = (): void => {
    output.value = seconds(input.valueAsNumber);
    input.setAttribute('aria-valuetext', output.value);
  };
  input.addEventListener('input', show);
  show();
  return h('label', h('span', `${label} `, output), input);
}

/** Builds the form. Motion is reduced by letting the text come at once. */
export function createForm({ questions, setup, onAsk, onStop, onCheckpoint }: FormOptions) {
  const { checkpoints, firstCheckpoint, firstQuestion, methods } = setup;
  const pace = select('pace', PACES);
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) pace.value = '0';
  const weights = select(
    'checkpoint',
    checkpoints.map(({ id, title }) => [id, title]),
  );
  weights.value = firstCheckpoint;
  weights.addEventListener('change', onCheckpoint);
  const ask = h('button.ask', { type: 'submit' }, methods.length > 1 ? 'Ask both' : 'Ask');
  const stop = h('button', { type: 'button', name: 'stop', onclick: onStop }, 'Stop');
  const submit = (event: Event): void => {
    event.preventDefault();
    if (ask.disabled) return;
    const values = Object.fromEntries(new FormData(node)) as Record<
      'question' | 'delay' | 'pace',
      string
    >;
    const asked = values.question.trim();
    const known = questions.find((candidate) => candidate.question === asked);
    onAsk({
      question: asked,
      goldenAnswers: known?.goldenAnswers ?? [],
      delayMs: Number(values.delay),
      tokensPerSecond: Number(values.pace),
    });
  };
  const node = h(
    'form.controls',
    { 'aria-label': 'Ask a question', onsubmit: submit },
    createQuestionField(questions, firstQuestion),
    labelled('Weights', weights, 'label.weights'),
    createDelayField(),
    labelled('The models write', pace),
    h('div.buttons', ask, ' ', stop),
  );
  return {
    node,
    checkpoint: (): PlaygroundCheckpoint => checkpoints.find(({ id }) => id === weights.value)!,
    /**
     * Lets the question be asked or stopped, neither while something is loaded; other
     * weights may be chosen unless all failed.
     */
    setState(state: 'loading' | 'ready' | 'running' | 'failed'): void {
      ask.disabled = state !== 'ready';
      stop.disabled = state !== 'running';
      weights.disabled = state === 'failed';
    },
  };
}
