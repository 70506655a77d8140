/** What to ask, of which weights, and how fast model and retriever are. */
import type { Question } from '../../../data/question.js';
import { element } from '../../viewer/page/dom.js';
import type { PlaygroundCheckpoint } from '../setup.js';
import { groupByKind } from './kinds.js';
import { seconds } from './time-line.js';

export interface Wish {
  question: string;
  /** Empty where the question is not one of the mini-wiki's. */
  goldenAnswers: string[];
  delayMs: number;
  tokensPerSecond: number;
}

export interface Form {
  node: HTMLElement;
  checkpoint(): PlaygroundCheckpoint;
  /** Asks what the form asks, as its button does. */
  ask(): void;
  /** Lets the question be asked or stopped, neither while something is loaded; other weights may be chosen unless all failed. */
  setState(state: 'loading' | 'ready' | 'running' | 'failed'): void;
}

export interface FormOptions {
  questions: readonly Question[];
  checkpoints: readonly PlaygroundCheckpoint[];
  /** The id of the checkpoint to begin with. */
  firstCheckpoint: string;
  onAsk(wish: Wish): void;
  onStop(): void;
  onCheckpoint(): void;
}

/** Tokens a second; 0 is no limit. */
const PACES = [
  [40, '40 tokens a second'],
  [100, '100 tokens a second'],
  [10, '10 tokens a second'],
  [0, 'as fast as this computer'],
] as const;
const DELAY = { min: 0, max: 3000, step: 100, value: 1000 };
/** The kind that shows first: where several searches at a time pay. */
const FIRST_KIND = '3 things compared';

function labelled(label: string, control: HTMLElement, className = ''): HTMLElement {
  return element('label', { class: className }, element('span', {}, label), control);
}

function select(name: string, options: readonly (readonly [string, string])[]): HTMLSelectElement {
  return element('select', { name }, ...options.map(([value, text]) => element('option', { value }, text)));
}

/** A field to type a question into or to pick one from the list of its kind, a choice of the kind, a button for another. */
function createQuestionField(questions: readonly Question[]) {
  const groups = groupByKind(questions);
  const counts = [...groups].map(([kind, { length }]) => [kind, `${kind} (${length})`] as const);
  const kind = select('kind', counts);
  const list = element('datalist', { id: 'questions' });
  const input = element('input', {
    name: 'question',
    list: 'questions',
    required: true,
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const another = element('button', { type: 'button', name: 'another' }, 'Another question');
  const pick = (which: (length: number) => number): void => {
    const group = groups.get(kind.value)!;
    input.value = group[which(group.length)].question;
  };
  const fill = (): void => {
    list.replaceChildren(
      ...groups.get(kind.value)!.map(({ question: value }) => element('option', { value })),
    );
    pick(() => 0);
  };
  kind.addEventListener('change', fill);
  another.addEventListener('click', () => pick((length) => Math.floor(Math.random() * length)));
  if (groups.has(FIRST_KIND)) kind.value = FIRST_KIND;
  fill();
  const nodes = [
    labelled('Kind of question', kind, 'kind'),
    labelled('Question', input, 'question'),
    another,
    list,
  ];
  return { nodes, value: () => input.value.trim() };
}

function createDelayField() {
  const output = element('output', {});
  const input = element('input', { type: 'range', name: 'delay', ...DELAY });
  const show = (): void => {
    output.value = seconds(input.valueAsNumber);
    input.setAttribute('aria-valuetext', output.value);
  };
  input.addEventListener('input', show);
  show();
  const label = 'Retrieval takes';
  input.setAttribute('aria-label', label);
  const text = element('span', {}, `${label} `, output);
  return { node: element('label', {}, text, input), value: () => input.valueAsNumber };
}

/** Builds the form. Motion is reduced by letting the text come at once. */
export function createForm(options: FormOptions): Form {
  const { questions, checkpoints } = options;
  const question = createQuestionField(questions);
  const delay = createDelayField();
  const pace = select(
    'pace',
    PACES.map(([rate, text]) => [String(rate), text]),
  );
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) pace.value = '0';
  const weights = select(
    'checkpoint',
    checkpoints.map(({ id, title }) => [id, title]),
  );
  weights.value = options.firstCheckpoint;
  const ask = element('button', { type: 'submit', class: 'ask' }, 'Ask both');
  const stop = element('button', { type: 'button', name: 'stop' }, 'Stop');
  const node = element(
    'form',
    { class: 'controls', 'aria-label': 'Ask both methods' },
    ...question.nodes,
    labelled('Weights', weights, 'weights'),
    delay.node,
    labelled('The models write', pace),
    element('div', { class: 'buttons' }, ask, ' ', stop),
  );
  weights.addEventListener('change', () => options.onCheckpoint());
  stop.addEventListener('click', () => options.onStop());
  node.addEventListener('submit', (event) => {
    event.preventDefault();
    if (ask.disabled) return;
    const asked = question.value();
    const known = questions.find((candidate) => candidate.question === asked);
    options.onAsk({
      question: asked,
      goldenAnswers: known?.goldenAnswers ?? [],
      delayMs: delay.value(),
      tokensPerSecond: Number(pace.value),
    });
  });
  return {
    node,
    ask: () => node.requestSubmit(),
    checkpoint: () => checkpoints.find(({ id }) => id === weights.value)!,
    setState(state) {
      ask.disabled = state !== 'ready';
      stop.disabled = state !== 'running';
      weights.disabled = state === 'failed';
    },
  };
}
