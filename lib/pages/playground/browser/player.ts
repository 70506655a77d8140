/** One method of the page: its worker, its column, its lane in the time line. */
import type { AnswerEvent } from '../../../rollout/answer.js';
import type { PlaygroundMethod } from '../setup.js';
import { createColumn } from './column.js';
import type { Outcome } from './comparison.js';
import type { Wish } from './form.js';
import { addToLane, type Lane } from './time-line.js';
import type { WorkerMessage, WorkerRequest } from './worker.js';

export interface PlayerOptions {
  /** The box for the probability of a token. */
  tip: HTMLElement;
  /** Address of the worker's script. */
  script: string;
  onAnswer(): void;
  onFailure(reason: string): void;
}

/** A method that can be asked once it is loaded. */
export function createPlayer(method: PlaygroundMethod, options: PlayerOptions) {
  const column = createColumn(method, options.tip);
  const { title, rollout } = method;
  let worker: Worker | null = null;
  let run = 0;
  let isRunning = false;
  let spans: Lane['spans'] = [];
  let outcome: Outcome | null = null;
  const send = (request: WorkerRequest): void => worker?.postMessage(request);

  const receive = (event: AnswerEvent): void => {
    spans = addToLane(spans, event, method);
    column.receive(event);
    if (event.kind !== 'end') return;
    isRunning = false;
    outcome = { title, trajectory: event.trajectory, spans, elapsedMs: event.elapsedMs };
    options.onAnswer();
  };
  /** Empties everything, for another question or other weights. */
  const clear = (): void => {
    if (isRunning) send({ kind: 'stop' });
    [isRunning, spans, outcome] = [false, [], null];
    column.clear();
  };

  return {
    method,
    node: column.node,
    clear,
    /**
     * Starts a worker in place of an earlier one and resolves with the backend's name;
     * never where a later one overtakes it.
     */
    load: (request: Omit<Extract<WorkerRequest, { kind: 'load' }>, 'kind'>): Promise<string> =>
      new Promise((resolve) => {
        worker?.terminate();
        worker = new Worker(options.script);
        worker.addEventListener('message', ({ data }: MessageEvent<WorkerMessage>) => {
          if (data.kind === 'ready') resolve(data.backend);
          else if (data.kind === 'failed') options.onFailure(data.reason);
          else if (data.run === run && isRunning) receive(data.event);
        });
        worker.addEventListener('error', ({ message }) => options.onFailure(message));
        send({ kind: 'load', ...request });
      }),
    /** Asks a question; what comes of earlier ones is dropped from now on. */
    ask({ question, delayMs, tokensPerSecond }: Wish): void {
      clear();
      isRunning = true;
      send({ kind: 'ask', run: ++run, question, options: { rollout, delayMs, tokensPerSecond } });
    },
    stop(): void {
      if (!isRunning) return;
      isRunning = false;
      column.stop();
      send({ kind: 'stop' });
    },
    lane: (): Lane => ({ title, spans, isRunning }),
    /** What came of the last question, or null while it has no answer. */
    outcome: () => outcome,
  };
}
