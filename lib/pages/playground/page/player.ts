/** One method of the page: its worker, its column, its lane in the time line. */
import type { AnswerEvent } from '../answer.js';
import type { WorkerMessage, WorkerRequest } from '../messages.js';
import type { PlaygroundMethod } from '../setup.js';
import { createColumn, type Column } from './column.js';
import type { Outcome } from './comparison.js';
import type { Wish } from './form.js';
import { addToLane, type Lane } from './time-line.js';
import type { Tip } from './tokens.js';

export interface Player {
  method: PlaygroundMethod;
  column: Column;
  send(request: WorkerRequest): void;
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
  /** @param load the number that the policy came with */
  onReady(load: number, backend: string): void;
  onEvent(event: AnswerEvent): void;
  onFailure(reason: string): void;
}

/** Starts a method's worker. */
export function createPlayer(method: PlaygroundMethod, options: PlayerOptions): Player {
  const worker = new Worker(options.script);
  const column = createColumn(method, options.tip);
  const { title, rollout } = method;
  let run = 0;
  let isRunning = false;
  let stretches: Lane['stretches'] = [];
  let outcome: Outcome | null = null;
  const send = (request: WorkerRequest): void => worker.postMessage(request);

  const receive = (event: AnswerEvent): void => {
    stretches = addToLane(stretches, event, method);
    column.receive(event);
    if (event.kind === 'end') {
      isRunning = false;
      outcome = { title, trajectory: event.trajectory, stretches, elapsedMs: event.elapsedMs };
    }
    options.onEvent(event);
  };
  worker.addEventListener('message', ({ data }: MessageEvent<WorkerMessage>) => {
    if (data.kind === 'ready') options.onReady(data.load, data.backend);
    else if (data.kind === 'failed') options.onFailure(data.reason);
    else if (data.kind === 'event' && data.run === run && isRunning) receive(data.event);
  });
  worker.addEventListener('error', ({ message }) => options.onFailure(message));

  const clear = (): void => {
    if (isRunning) send({ kind: 'stop', run });
    [isRunning, stretches, outcome] = [false, [], null];
    column.clear();
  };

  return {
    method,
    column,
    send,
    clear,
    ask({ question, delayMs, tokensPerSecond }) {
      clear();
      isRunning = true;
      run++;
      send({ kind: 'ask', run, question, options: { rollout, delayMs, tokensPerSecond } });
    },
    stop() {
      if (!isRunning) return;
      isRunning = false;
      column.stop();
      send({ kind: 'stop', run });
    },
    lane: () => ({ title, stretches, isRunning }),
    outcome: () => outcome,
  };
}
