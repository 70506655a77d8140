/** One method of the page: its worker, its column, its lane in the time line. */
import type { AnswerEvent } from '../answer.js';
import type { PolicyFiles, WorkerMessage, WorkerRequest } from '../messages.js';
import type { PlaygroundMethod } from '../setup.js';
import { createColumn } from './column.js';
import type { Outcome } from './comparison.js';
import type { Wish } from './form.js';
import { addToLane, type Lane } from './time-line.js';
import type { Tip } from './tokens.js';

export interface Player {
  method: PlaygroundMethod;
  node: HTMLElement;
  /** Loads a policy and resolves with the backend's name. */
  load(files: PolicyFiles): Promise<string>;
  /** Asks a question; what comes of earlier ones is dropped from now on. */
  ask(wish: Pick<Wish, 'question' | 'delayMs' | 'tokensPerSecond'>): void;
  stop(): void;
  /** Stops and empties everything, for other weights. */
  clear(): void;
  lane(): Lane;
  /** What came of the last question, or null while it has no answer. */
  outcome(): Outcome | null;
}

export interface PlayerOptions {
  tip: Tip;
  /** Address of the worker's script. */
  script: string;
  /** What the worker is told first. */
  world: WorkerRequest;
  onAnswer(): void;
  onFailure(reason: string): void;
}

/** Starts a method's worker. */
export function createPlayer(method: PlaygroundMethod, options: PlayerOptions): Player {
  const worker = new Worker(options.script);
  const column = createColumn(method, options.tip);
  const { title, rollout } = method;
  /** What waits for each policy, in the order of their numbers. */
  const loads: ((backend: string) => void)[] = [];
  let run = 0;
  let isRunning = false;
  let spans: Lane['spans'] = [];
  let outcome: Outcome | null = null;
  const send = (request: WorkerRequest): void => worker.postMessage(request);

  const receive = (event: AnswerEvent): void => {
    spans = addToLane(spans, event, method);
    column.receive(event);
    if (event.kind !== 'end') return;
    isRunning = false;
    outcome = { title, trajectory: event.trajectory, spans, elapsedMs: event.elapsedMs };
    options.onAnswer();
  };
  worker.addEventListener('message', ({ data }: MessageEvent<WorkerMessage>) => {
    if (data.kind === 'ready') loads[data.load](data.backend);
    else if (data.kind === 'failed') options.onFailure(data.reason);
    else if (data.run === run && isRunning) receive(data.event);
  });
  worker.addEventListener('error', ({ message }) => options.onFailure(message));
  send(options.world);

  const clear = (): void => {
    if (isRunning) send({ kind: 'stop', run });
    [isRunning, spans, outcome] = [false, [], null];
    column.clear();
  };

  return {
    method,
    node: column.node,
    clear,
    load: (files) => new Promise((resolve) => send({ kind: 'policy', load: loads.push(resolve) - 1, files })),
    ask({ question, delayMs, tokensPerSecond }) {
      clear();
      isRunning = true;
      send({ kind: 'ask', run: ++run, question, options: { rollout, delayMs, tokensPerSecond } });
    },
    stop() {
      if (!isRunning) return;
      isRunning = false;
      column.stop();
      send({ kind: 'stop', run });
    },
    lane: () => ({ title, spans, isRunning }),
    outcome: () => outcome,
  };
}
