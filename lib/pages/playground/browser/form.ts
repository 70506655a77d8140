/** The form: question, checkpoint, retrieval delay and generation speed. */
import { group, sort } from 'd3-array';
import { graphQuestionType, type Question } from '../../../data/question.js';
import { h, labelled, select } from '../../browser/dom.js';
import type { PlaygroundCheckpoint, PlaygroundSetup } from '../setup.js';
import { seconds } from './time-line.js';

export interface AskRequest {
  question: string;
  /** Empty if unknown. */
  goldenAnswers: string[];
  delayMs: number;
  tokensPerSecond: number;
}

interface FormOptions {
  setup: PlaygroundSetup;
  onAsk: (request: AskRequest) => void;
  onStop: () => void;
  onCheckpoint: () => void;
}

/** Tokens per second; 0 means unlimited. */
const PACES = [
  ['40', '40 tokens/s'],
  ['100', '100 tokens/s'],
  ['10', '10 tokens/s'],
  ['0', 'as fast as possible'],
] as const;
const DELAY = { min: 0, max: 3000, step: 100, value: 1000 };

/** Describes a question's type, by its dependency graph if it has one. */
export function describeType({ metadata: { graph = [], type } }: Question): string {
  if (graph.length === 0) return type ?? 'all';
  return {
    single_hop: 'one fact',
    parallelizable: `comparison of ${graph.length}`,
    sequential: `chain of ${graph.length}`,
    hybrid: 'two parallel chains',
  }[graphQuestionType(graph)];
}

/** Questions by type, with types in alphabetical order. */
export const groupByType = (questions: readonly Question[]): Map<string, Question[]> =>
  new Map(sort(group(questions, describeType), ([a], [b]) => a.localeCompare(b)));

/** A field to type a question, or to pick one by type or at random. */
function createQuestionField({ questions, firstQuestion }: PlaygroundSetup) {
  const attributes = { required: true, rows: 1, autocomplete: 'off', spellcheck: 'false' };
  // Shows long questions completely in narrow windows.
  const input = h('textarea', { name: 'question', ...attributes });
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.isComposing) return;
    event.preventDefault();
    input.form?.requestSubmit();
  });
  const field = labelled('Question', input, 'label.question');
  if (questions.length === 0) return { field, examples: [] };
  const groups = groupByType(questions);
  const type = select(
    'type',
    [...groups].map(([name, { length }]) => [name, `${name} (${length})`]),
  );
  const first = questions.find(({ question }) => question === firstQuestion);
  if (first) type.value = describeType(first);
  const list = h('select');
  const candidates = (): Question[] => groups.get(type.value)!;
  const fill = (): void => {
    const texts = candidates().map(({ question }) => h('option', question));
    list.replaceChildren(h('option', { value: '' }, 'Pick one'), ...texts);
    input.value = candidates()[0].question;
  };
  list.addEventListener('change', () => {
    if (list.value) input.value = list.value;
    list.value = '';
  });
  const pick = (): void => {
    input.value = candidates()[Math.floor(Math.random() * candidates().length)].question;
  };
  type.addEventListener('change', fill);
  fill();
  if (first) input.value = first.question;
  const examples = [
    labelled('Question type', type),
    labelled('Questions of this type', list),
    h('button', { type: 'button', name: 'random', onclick: pick }, 'Random question'),
  ];
  return { field, examples };
}

function createDelayField(): HTMLElement {
  const label = 'Retrieval delay';
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

/** Builds the form. With reduced motion, text appears at once. */
export function createForm({ setup, onAsk, onStop, onCheckpoint }: FormOptions) {
  const { checkpoints, firstCheckpoint, methods, questions } = setup;
  const question = createQuestionField(setup);
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
    const values = Object.fromEntries(new FormData(node)) as Record<string, string>;
    const text = values.question.trim();
    onAsk({
      question: text,
      goldenAnswers: questions.find((one) => one.question === text)?.goldenAnswers ?? [],
      delayMs: Number(values.delay),
      tokensPerSecond: Number(values.pace),
    });
  };
  const node = h(
    'form.controls',
    { 'aria-label': 'Ask a question', onsubmit: submit },
    question.field,
    h('div.buttons', ask, ' ', stop),
    question.examples,
    labelled('Checkpoint', weights, 'label.weights'),
    createDelayField(),
    labelled('Generation speed', pace),
  );
  return {
    node,
    checkpoint: (): PlaygroundCheckpoint => checkpoints.find(({ id }) => id === weights.value)!,
    /** Enables the controls that make sense in a state. */
    setState(state: 'loading' | 'ready' | 'running' | 'failed'): void {
      ask.disabled = state !== 'ready';
      stop.disabled = state !== 'running';
      weights.disabled = state === 'failed';
    },
  };
}
