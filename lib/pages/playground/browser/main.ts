/**
 * Runs the playground. A question goes from the form to every player and its worker,
 * which answers it. The worker's events fill the player's column and lane, then the
 * comparison.
 */
import { unknownNamesWarning } from '../../../text/names.js';
import '../../browser/report.js';
import { h, unpackElement } from '../../browser/dom.js';
import {
  ADAPTER_FILES,
  MODEL_FILES,
  PASSAGES_FILE,
  SETUP_FILE,
  WASM_FILE,
  WORKER_FILE,
  type PlaygroundMethod,
  type PlaygroundSetup,
} from '../setup.js';
import { createColumn } from './column.js';
import { createForm, type AskRequest } from './form.js';
import { createTimeLine, extendLane, outcomesNode, speedSentence, type Lane } from './time-line.js';
import type {
  FolderFiles,
  PlaygroundEvent,
  WorkerMessage,
  WorkerParts,
  WorkerRequest,
} from './worker.js';

/** Milliseconds between two drawings of the time line. */
const DRAW_MS = 100;

const readBytes = async (name: string): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await unpackElement(name).arrayBuffer());

async function readFolder(folder: string, names: readonly string[]): Promise<FolderFiles> {
  const files = names.map(async (name) => [name, await readBytes(`${folder}/${name}`)] as const);
  return Object.fromEntries(await Promise.all(files));
}

interface PlayerOptions {
  tip: HTMLElement;
  script: string;
  onAnswer: () => void;
  onFailure: (reason: string) => void;
}

function createPlayer(method: PlaygroundMethod, options: PlayerOptions) {
  const column = createColumn(method, options.tip);
  const { name, title, rollout } = method;
  let worker: Worker | null = null;
  let run = 0;
  let lane: Lane = { title, spans: [], isRunning: false, trajectory: null };
  const send = (request: WorkerRequest): void => worker?.postMessage(request);

  const receive = (event: PlaygroundEvent): void => {
    lane = { ...lane, spans: extendLane(lane.spans, event) };
    column.receive(event);
    if (event.type !== 'end') return;
    lane = { ...lane, isRunning: false, trajectory: event.trajectory };
    options.onAnswer();
  };
  const clear = (): void => {
    if (lane.isRunning) send({ kind: 'stop' });
    lane = { title, spans: [], isRunning: false, trajectory: null };
    column.clear();
  };

  return {
    name,
    node: column.node,
    clear,
    /** Replaces the worker. Resolves with the backend, or never if it is replaced. */
    load: (parts: WorkerParts): Promise<string> =>
      new Promise((resolve) => {
        worker?.terminate();
        worker = new Worker(options.script);
        worker.addEventListener('message', ({ data }: MessageEvent<WorkerMessage>) => {
          if (data.kind === 'ready') resolve(data.backend);
          else if (data.kind === 'failed') options.onFailure(data.reason);
          else if (data.run === run && lane.isRunning) receive(data.event);
        });
        worker.addEventListener('error', ({ message }) => options.onFailure(message));
        send({ kind: 'load', parts });
      }),
    /** Asks a question; events of earlier questions are dropped. */
    ask({ question, delayMs, tokensPerSecond }: AskRequest): void {
      clear();
      lane = { ...lane, isRunning: true };
      send({ kind: 'ask', run: ++run, question, options: { rollout, delayMs, tokensPerSecond } });
    },
    stop(): void {
      if (!lane.isRunning) return;
      lane = { ...lane, isRunning: false };
      column.stop();
      send({ kind: 'stop' });
    },
    lane: () => lane,
  };
}

/** The files in the page: settings, the worker's address, and what its workers share. */
async function unpack() {
  const setup = (await unpackElement(SETUP_FILE).json()) as PlaygroundSetup;
  const worker = await unpackElement(WORKER_FILE).text();
  const script = URL.createObjectURL(new Blob([worker], { type: 'text/javascript' }));
  const passages = await unpackElement(PASSAGES_FILE).text();
  const { titleWeight, analyzer } = setup;
  return {
    setup,
    script,
    world: { wasm: await readBytes(WASM_FILE), passages, titleWeight, analyzer },
  };
}

/**
 * Builds the page and loads the first checkpoint. `data-ready` on `root` is the id of the
 * loaded checkpoint.
 */
async function start(root: HTMLElement): Promise<void> {
  root.hidden = false;
  const { setup, script, world } = await unpack();
  const status = h('p', { id: 'status', role: 'status' });
  const comparison = h('div.comparison');
  const timeLine = createTimeLine();
  const tip = h('div.tip', { role: 'status' });
  const onCheckpoint = (): void => void load().catch(fail);
  const form = createForm({ setup, onAsk: ask, onStop: stop, onCheckpoint });
  const options = { tip, script, onAnswer: showOutcomes, onFailure: fail };
  const players = setup.methods.map((method) => createPlayer(method, options));
  let asked: AskRequest | null = null;
  let numLoads = 0;
  let hasFailed = false;
  let timer: ReturnType<typeof setTimeout>;

  /** Loads the selected checkpoint, superseding an earlier call. */
  async function load(): Promise<void> {
    const id = ++numLoads;
    for (const player of players) player.clear();
    comparison.replaceChildren();
    draw(0);
    const checkpoint = form.checkpoint();
    delete root.dataset.ready;
    form.setState('loading');
    status.textContent = `Loading ${checkpoint.title} …`;
    const model = await readFolder(checkpoint.model, MODEL_FILES);
    const loads = players.map(async (player) => {
      const folder = checkpoint.adapters[player.name];
      const adapter = folder ? await readFolder(folder, ADAPTER_FILES) : null;
      const { name } = player;
      return id === numLoads ? player.load({ ...world, name, model, adapter }) : '';
    });
    const [backend] = await Promise.all(loads);
    if (id !== numLoads || hasFailed) return;
    status.textContent = `Ready (${backend}).`;
    form.setState('ready');
    root.dataset.ready = checkpoint.id;
    if (asked) form.node.requestSubmit(); // ask the new weights, too
  }

  function ask(request: AskRequest): void {
    asked = request;
    comparison.replaceChildren();
    status.textContent =
      `${unknownNamesWarning(asked.question, [world.passages])} Answering …`.trim();
    form.setState('running');
    for (const player of players) player.ask(asked);
    draw(performance.now());
  }

  function stop(): void {
    asked = null;
    for (const player of players) player.stop();
    status.textContent = 'Stopped.';
    form.setState('ready');
  }

  function showOutcomes(): void {
    const finished = players.flatMap((player) => {
      const { title, spans, trajectory } = player.lane();
      return trajectory ? [{ title, spans, trajectory }] : [];
    });
    const isComplete = finished.length === players.length;
    status.textContent = [
      asked && unknownNamesWarning(asked.question, [world.passages]),
      ...finished.map(({ title, trajectory: { answer } }) => `${title}: ${answer ?? 'no answer'}.`),
      isComplete && players.length > 1 && speedSentence(finished),
    ]
      .filter(Boolean)
      .join(' ');
    if (!isComplete) return;
    comparison.replaceChildren(outcomesNode(finished, asked!.goldenAnswers));
    form.setState('ready');
  }

  /** Redraws the time line until all methods have answered. */
  function draw(startMs: number): void {
    clearTimeout(timer);
    const lanes = players.map((player) => player.lane());
    timeLine.draw(lanes, performance.now() - startMs);
    if (lanes.some(({ isRunning }) => isRunning)) timer = setTimeout(() => draw(startMs), DRAW_MS);
  }

  function fail(reason: unknown): void {
    if (hasFailed) return; // later failures follow from the first
    hasFailed = true;
    form.setState('failed');
    status.textContent = `Error: ${String(reason)}`;
  }

  const columns = h(
    'div.columns',
    players.map(({ node }) => node),
  );
  root.replaceChildren(form.node, status, timeLine.node, columns, comparison, tip);
  await load().catch(fail);
}

const root = document.getElementById('playground')!;
start(root).catch((error: unknown) => {
  root.replaceChildren(h('p', { role: 'alert' }, `Cannot start the playground: ${String(error)}`));
  throw error;
});
