/**
 * The playground at work: weights are loaded, both methods are asked and stopped, and
 * what comes of it is shown.
 */
import './no-eval.js';
import { parseQuestions } from '../../../data/flashrag-text.js';
import { h } from '../../../html/browser/dom.js';
import '../../../html/browser/report.js';
import { unknownNamesWarning } from '../../../rollout/answer.js';
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
import { createPlayer } from './player.js';
import { createTimeLine } from './time-line.js';

/** Milliseconds between two drawings of the time line while it grows. */
const DRAW_MS = 100;

/**
 * Unpacks the files, builds the page and loads the first weights. `data-ready` of `root`
 * names the weights that can be asked.
 */
async function start(root: HTMLElement): Promise<void> {
  root.hidden = false;
  const setup = await readJson<PlaygroundSetup>(SETUP_FILE);
  const questions = parseQuestions(await readText(QUESTIONS_FILE), QUESTIONS_FILE, () => undefined); // none is fine
  const script = URL.createObjectURL(
    new Blob([await readText(WORKER_FILE)], { type: 'text/javascript' }),
  );
  const [wasm, passages] = await Promise.all([readBytes(WASM_FILE), readText(PASSAGES_FILE)]);
  const world = { wasm, passages, titleWeight: setup.titleWeight, analyzer: setup.analyzer };

  const status = h('p', { id: 'status', role: 'status' });
  const results = h('div.results');
  const timeLine = createTimeLine();
  const tip = h('div.tip', { role: 'status' });
  const form = createForm({
    questions,
    setup,
    onAsk: ask,
    onStop: stop,
    onCheckpoint: () => void reload(),
  });
  const callbacks = { onAnswer: showOutcomes, onFailure: fail };
  const players = setup.methods.map((method) =>
    createPlayer(method, { tip, script, ...callbacks }),
  );
  let wish: Wish | null = null;
  let numLoads = 0;
  let hasFailed = false;
  let timer: ReturnType<typeof setTimeout>;

  /**
   * Empties the page and loads the weights that the form names; a later call overtakes
   * one that is under way.
   */
  async function load(): Promise<void> {
    const load = ++numLoads;
    for (const player of players) player.clear();
    results.replaceChildren();
    draw(0);
    const checkpoint = form.checkpoint();
    delete root.dataset.ready;
    form.setState('loading');
    status.textContent = `Loading ${checkpoint.title} …`;
    const loading = players.map(async (player) => {
      const files = await readPolicy(player.method.name, checkpoint);
      return load === numLoads ? player.load({ world, files }) : '';
    });
    const [backend] = await Promise.all(loading);
    if (load !== numLoads || hasFailed) return;
    status.textContent = `Ready, on ${backend}.`;
    form.setState('ready');
    root.dataset.ready = checkpoint.id;
    if (wish) form.node.requestSubmit(); // other weights have to answer, too, unless the reader has stopped
  }

  function reload(): Promise<void> {
    return load().catch(fail);
  }

  function ask(asked: Wish): void {
    wish = asked;
    results.replaceChildren();
    status.textContent = `${unknownNamesWarning(asked.question, [passages])} At work.`.trim();
    form.setState('running');
    for (const player of players) player.ask(asked);
    draw(performance.now());
  }

  function stop(): void {
    wish = null;
    for (const player of players) player.stop();
    status.textContent = 'Stopped.';
    form.setState('ready');
  }

  function showOutcomes(): void {
    const outcomes = players
      .map((player) => player.outcome())
      .filter((outcome) => outcome !== null);
    const said = outcomes.map(
      ({ title, trajectory }) => `${title} answers ${trajectory.answer ?? 'nothing'}.`,
    );
    const areAllThere = outcomes.length === players.length;
    status.textContent = [
      ...(wish ? [unknownNamesWarning(wish.question, [passages])] : []),
      ...said,
      ...(areAllThere && players.length > 1 ? [speedSentence(outcomes)] : []),
    ]
      .filter(Boolean)
      .join(' ');
    if (!areAllThere) return;
    results.replaceChildren(comparisonNode(outcomes, wish!.goldenAnswers));
    form.setState('ready');
  }

  /**
   * Draws the time line of a question that was asked at `startMs`, again and again until
   * every method has answered.
   */
  function draw(startMs: number): void {
    clearTimeout(timer);
    const lanes = players.map((player) => player.lane());
    timeLine.draw(lanes, performance.now() - startMs);
    if (lanes.some(({ isRunning }) => isRunning)) timer = setTimeout(() => draw(startMs), DRAW_MS);
  }

  function fail(reason: unknown): void {
    if (hasFailed) return; // what fails afterwards fails because of it
    hasFailed = true;
    form.setState('failed');
    status.textContent = `That did not work: ${String(reason)}`;
  }

  const columns = players.map(({ node }) => node);
  root.replaceChildren(form.node, status, timeLine.node, h('div.columns', columns), results, tip);
  await reload();
}

const root = document.getElementById('playground')!;
start(root).catch((error: unknown) => {
  root.replaceChildren(
    h('p', { role: 'alert' }, `The playground could not start: ${String(error)}`),
  );
  throw error;
});
