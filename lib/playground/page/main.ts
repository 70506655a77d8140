/** Starts the playground: unpacks the files, starts a worker for each method, and asks both what the form asks. */
import './no-eval.js';
import { parseQuestions } from '../../data/flashrag-text.js';
import { finalAnswer } from '../../text/turns.js';
import { element } from '../../viewer/page/dom.js';
import {
  PASSAGES_FILE,
  QUESTIONS_FILE,
  SETUP_FILE,
  WASM_FILE,
  WORKER_FILE,
  type PlaygroundSetup,
} from '../setup.js';
import { comparisonNode, speedSentence } from './comparison.js';
import { readBytes, readJson, readPolicy, readText } from './files.js';
import { createForm, type Wish } from './form.js';
import { createPlayer, type Player, type PlayerOptions } from './player.js';
import { createTimeLine, type TimeLine } from './time-line.js';
import { createTip } from './tokens.js';

/** Milliseconds between two drawings of the time line while it grows. */
const DRAW_MS = 100;

async function createPlayers(
  { methods, titleWeight }: PlaygroundSetup,
  options: Omit<PlayerOptions, 'script'>,
): Promise<Player[]> {
  const code = new Blob([await readText(WORKER_FILE)], { type: 'text/javascript' });
  const script = URL.createObjectURL(code);
  const players = methods.map((method) => createPlayer(method, { ...options, script }));
  const [wasm, passages] = await Promise.all([readBytes(WASM_FILE), readText(PASSAGES_FILE)]);
  for (const player of players) player.send({ kind: 'world', wasm, passages, titleWeight });
  return players;
}

/** Draws the time line of a question that was asked at `startMs`, again and again until every method has answered. */
function createDrawing(timeLine: TimeLine, players: readonly Player[]): (startMs: number) => void {
  let timer: ReturnType<typeof setTimeout>;
  return function draw(startMs) {
    clearTimeout(timer);
    const lanes = players.map((player) => player.lane());
    timeLine.draw(lanes, performance.now() - startMs);
    if (lanes.some(({ isRunning }) => isRunning)) timer = setTimeout(() => draw(startMs), DRAW_MS);
  };
}

async function buildPlayground(root: HTMLElement): Promise<void> {
  const setup = await readJson<PlaygroundSetup>(SETUP_FILE);
  const questions = parseQuestions(await readText(QUESTIONS_FILE), QUESTIONS_FILE);
  const status = element('p', { id: 'status', role: 'status' });
  const tip = createTip();
  const timeLine = createTimeLine();
  const results = element('div', { class: 'results' });
  let goldenAnswers: string[] = [];
  let numReady = 0;
  let hasFailed = false;

  const showOutcomes = (): void => {
    const outcomes = players.map((player) => player.outcome()).filter((outcome) => outcome !== null);
    const said = outcomes.map(
      ({ title, trajectory }) => `${title} answers ${finalAnswer(trajectory.segments) ?? 'nothing'}.`,
    );
    status.textContent = said.join(' ');
    if (outcomes.length < players.length) return;
    status.textContent += ` ${speedSentence(outcomes)}`;
    results.replaceChildren(comparisonNode(outcomes, goldenAnswers));
    form.setState('ready');
  };
  const ask = (wish: Wish): void => {
    goldenAnswers = wish.goldenAnswers;
    results.replaceChildren();
    status.textContent = 'Both methods are at work.';
    form.setState('running');
    for (const player of players) player.ask(wish);
    draw(performance.now());
  };
  const stop = (): void => {
    for (const player of players) player.stop();
    status.textContent = 'Stopped.';
    form.setState('ready');
  };
  const load = async (): Promise<void> => {
    form.setState('loading');
    numReady = 0;
    const checkpoint = form.checkpoint();
    status.textContent = `Loading ${checkpoint.title} …`;
    for (const player of players)
      player.send({ kind: 'policy', files: await readPolicy(player.method, checkpoint) });
  };
  const fail = (reason: string): void => {
    if (hasFailed) return; // what fails afterwards fails because of it
    hasFailed = true;
    form.setState('loading');
    status.textContent = `That did not work: ${reason}`;
  };
  const countReady = (backend: string): void => {
    if (++numReady < players.length || hasFailed) return;
    status.textContent = `Ready, on ${backend}.`;
    form.setState('ready');
    root.dataset.ready = form.checkpoint().id;
  };

  const form = createForm({
    questions,
    checkpoints: setup.checkpoints,
    onAsk: ask,
    onStop: stop,
    onCheckpoint: () => void load().catch((error: unknown) => fail(String(error))),
  });
  form.setState('loading');
  const players = await createPlayers(setup, {
    tip,
    onReady: countReady,
    onEvent: ({ kind }) => kind === 'end' && showOutcomes(),
    onFailure: fail,
  });
  const draw = createDrawing(timeLine, players);
  const columns = element('div', { class: 'columns' }, ...players.map(({ column }) => column.node));
  root.replaceChildren(form.node, status, timeLine.node, columns, results, tip.node);
  draw(0);
  await load();
}

const root = document.getElementById('playground')!;
root.hidden = false;
buildPlayground(root).catch((error: unknown) => {
  root.replaceChildren(element('p', { role: 'alert' }, `The playground could not start: ${String(error)}`));
  throw error;
});
