/** The page at work: weights are loaded, both methods are asked and stopped, and what comes of it is shown. */
import type { Question } from '../../../data/question.js';
import { finalAnswer } from '../../../text/turns.js';
import { element } from '../../viewer/page/dom.js';
import type { WorkerRequest } from '../messages.js';
import type { PlaygroundSetup } from '../setup.js';
import { comparisonNode, speedSentence } from './comparison.js';
import { readPolicy } from './files.js';
import { createForm, type Form, type Wish } from './form.js';
import { createPlayer, type Player } from './player.js';
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

/** Starts a worker for each method and builds the page in `root`, whose `data-ready` names the weights that can be asked. */
export class Playground {
  private readonly status = element('p', { id: 'status', role: 'status' });
  private readonly timeLine = createTimeLine();
  private readonly results = element('div', { class: 'results' });
  private readonly form: Form;
  private readonly players: Player[];
  private goldenAnswers: readonly string[] = [];
  /** Whether a question was asked and not stopped: then other weights have to answer it, too. */
  private isAsked = false;
  private numLoads = 0;
  private numReady = 0;
  private hasFailed = false;
  private timer?: ReturnType<typeof setTimeout>;

  constructor(
    private readonly root: HTMLElement,
    { setup, questions, script, world }: PlaygroundOptions,
  ) {
    const tip = createTip();
    this.form = createForm({
      questions,
      checkpoints: setup.checkpoints,
      firstCheckpoint: setup.firstCheckpoint,
      onAsk: (wish) => this.ask(wish),
      onStop: () => this.stop(),
      onCheckpoint: () => void this.load(),
    });
    const options = {
      ...{ tip, script },
      onReady: (load: number, backend: string) => this.countReady(load, backend),
      onEvent: ({ kind }: { kind: string }) => kind === 'end' && this.showOutcomes(),
      onFailure: (reason: string) => this.fail(reason),
    };
    this.players = setup.methods.map((method) => createPlayer(method, options));
    for (const player of this.players) player.send(world);
    const columns = element('div', { class: 'columns' }, ...this.players.map(({ column }) => column.node));
    root.replaceChildren(this.form.node, this.status, this.timeLine.node, columns, this.results, tip.node);
  }

  /** Empties the page and loads the weights that the form names; a later call overtakes one that is under way. */
  async load(): Promise<void> {
    const load = ++this.numLoads;
    this.numReady = 0;
    for (const player of this.players) player.clear();
    this.results.replaceChildren();
    this.draw(0);
    const checkpoint = this.form.checkpoint();
    delete this.root.dataset.ready;
    this.form.setState('loading');
    this.status.textContent = `Loading ${checkpoint.title} …`;
    try {
      for (const player of this.players) {
        const files = await readPolicy(player.method, checkpoint);
        if (load !== this.numLoads) return;
        player.send({ kind: 'policy', load, files });
      }
    } catch (error) {
      this.fail(String(error));
    }
  }

  private countReady(load: number, backend: string): void {
    if (load !== this.numLoads || ++this.numReady < this.players.length || this.hasFailed) return;
    this.status.textContent = `Ready, on ${backend}.`;
    this.form.setState('ready');
    this.root.dataset.ready = this.form.checkpoint().id;
    if (this.isAsked) this.form.ask();
  }

  private ask(wish: Wish): void {
    this.isAsked = true;
    this.goldenAnswers = wish.goldenAnswers;
    this.results.replaceChildren();
    this.status.textContent = 'Both methods are at work.';
    this.form.setState('running');
    for (const player of this.players) player.ask(wish);
    this.draw(performance.now());
  }

  private stop(): void {
    this.isAsked = false;
    for (const player of this.players) player.stop();
    this.status.textContent = 'Stopped.';
    this.form.setState('ready');
  }

  private showOutcomes(): void {
    const outcomes = this.players.map((player) => player.outcome()).filter((outcome) => outcome !== null);
    const said = outcomes.map(
      ({ title, trajectory }) => `${title} answers ${finalAnswer(trajectory.segments) ?? 'nothing'}.`,
    );
    this.status.textContent = said.join(' ');
    if (outcomes.length < this.players.length) return;
    this.status.textContent += ` ${speedSentence(outcomes)}`;
    this.results.replaceChildren(comparisonNode(outcomes, this.goldenAnswers));
    this.form.setState('ready');
  }

  /** Draws the time line of a question that was asked at `startMs`, again and again until every method has answered. */
  private draw(startMs: number): void {
    clearTimeout(this.timer);
    const lanes = this.players.map((player) => player.lane());
    this.timeLine.draw(lanes, performance.now() - startMs);
    if (lanes.some(({ isRunning }) => isRunning)) this.timer = setTimeout(() => this.draw(startMs), DRAW_MS);
  }

  private fail(reason: string): void {
    if (this.hasFailed) return; // what fails afterwards fails because of it
    this.hasFailed = true;
    this.form.setState('failed');
    this.status.textContent = `That did not work: ${reason}`;
  }
}
