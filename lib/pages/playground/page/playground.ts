/** The page at work: weights are loaded, both methods are asked and stopped, and what comes of it is shown. */
import type { Question } from '../../../data/question.js';
import { h } from '../../../html/browser/dom.js';
import { finalAnswer } from '../../../text/response.js';
import type { WorkerRequest } from '../messages.js';
import type { PlaygroundSetup } from '../setup.js';
import { comparisonNode, speedSentence } from './comparison.js';
import { readPolicy } from './files.js';
import { createForm, type Wish } from './form.js';
import { createPlayer } from './player.js';
import { createTimeLine } from './time-line.js';
import { createTip } from './tokens.js';

/** Milliseconds between two drawings of the time line while it grows. */
const DRAW_MS = 100;

export interface PlaygroundOptions {
  setup: PlaygroundSetup;
  questions: readonly Question[];
  /** Address of the workers' script. */
  script: string;
  /** What every worker is told first. */
  world: WorkerRequest;
}

/**
 * Starts a worker for each method, builds the page in `root` and loads the first weights. `data-ready` of `root` names the
 * weights that can be asked.
 */
export async function startPlayground(root: HTMLElement, options: PlaygroundOptions): Promise<void> {
  const { setup, questions, script, world } = options;
  const status = h('p', { id: 'status', role: 'status' });
  const results = h('div.results');
  const timeLine = createTimeLine();
  const tip = createTip();
  const form = createForm({ questions, setup, onAsk: ask, onStop: stop, onCheckpoint: () => void reload() });
  const callbacks = { onAnswer: showOutcomes, onFailure: fail };
  const players = setup.methods.map((method) => createPlayer(method, { tip, script, world, ...callbacks }));
  let wish: Wish | null = null;
  let numLoads = 0;
  let hasFailed = false;
  let timer: ReturnType<typeof setTimeout>;

  /** Empties the page and loads the weights that the form names; a later call overtakes one that is under way. */
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
      const files = await readPolicy(player.method, checkpoint);
      return load === numLoads ? player.load(files) : '';
    });
    const [backend] = await Promise.all(loading);
    if (load !== numLoads || hasFailed) return;
    status.textContent = `Ready, on ${backend}.`;
    form.setState('ready');
    root.dataset.ready = checkpoint.id;
    if (wish) form.ask(); // other weights have to answer, too, unless the reader has stopped
  }

  function reload(): Promise<void> {
    return load().catch(fail);
  }

  function ask(asked: Wish): void {
    wish = asked;
    results.replaceChildren();
    status.textContent = 'Both methods are at work.';
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
    const outcomes = players.map((player) => player.outcome()).filter((outcome) => outcome !== null);
    const said = outcomes.map(
      ({ title, trajectory }) => `${title} answers ${finalAnswer(trajectory.segments) ?? 'nothing'}.`,
    );
    const areAllThere = outcomes.length === players.length;
    status.textContent = [...said, ...(areAllThere ? [speedSentence(outcomes)] : [])].join(' ');
    if (!areAllThere) return;
    results.replaceChildren(comparisonNode(outcomes, wish!.goldenAnswers));
    form.setState('ready');
  }

  /** Draws the time line of a question that was asked at `startMs`, again and again until every method has answered. */
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

  const columns = h(
    'div.columns',
    players.map(({ node }) => node),
  );
  root.replaceChildren(form.node, status, timeLine.node, columns, results, tip.node);
  await reload();
}
