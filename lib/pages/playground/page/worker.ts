/** A worker that answers with one policy, so that each method has a thread of its own and the page stays free. */
import './no-eval.js';
import { parsePassages } from '../../../data/flashrag-text.js';
import { LocalPolicy } from '../../../policy/local-policy.js';
import { disposeMerged, mergePeftArrays, parsePeftConfig } from '../../../policy/lora.js';
import { createModel } from '../../../policy/model.js';
import { parseSafetensors } from '../../../policy/safetensors.js';
import { disposeWeights, type Weights } from '../../../policy/weights.js';
import { createBm25Retriever, type Bm25Retriever } from '../../../retrieval/bm25.js';
import { answerQuestion } from '../answer.js';
import type { PolicyFiles, WorkerMessage, WorkerRequest } from '../messages.js';
import { startBackend } from './backend.js';

let backend = '';
let retriever: Bm25Retriever;
let policy: LocalPolicy | null = null;
let weights: Weights = {};
let controller = new AbortController();
/** The last run that is not wanted any more. */
let stoppedRun = 0;

const say = (message: WorkerMessage): void => postMessage(message);

/** The initial model's weights with the adapter's added; what only the initial model needed is disposed of. */
function weightsOf(
  initial: Weights,
  { adapter }: PolicyFiles,
  model: ReturnType<typeof createModel>,
): Weights {
  if (!adapter) return initial;
  const arrays = parseSafetensors(adapter.weights);
  const merged = mergePeftArrays(initial, arrays, model.config, parsePeftConfig(adapter.config));
  disposeMerged(initial, merged);
  return merged;
}

function loadPolicy({ load, files }: Extract<WorkerRequest, { kind: 'policy' }>): void {
  policy?.dispose();
  disposeWeights(weights);
  const model = createModel({ ...files, arrays: parseSafetensors(files.weights) });
  weights = weightsOf(model.weights, files, model);
  policy = new LocalPolicy(files.name, weights, model.config, model.tokenizer);
  say({ kind: 'ready', load, backend });
}

async function ask({ run, question, options }: Extract<WorkerRequest, { kind: 'ask' }>): Promise<void> {
  if (run <= stoppedRun) return;
  controller = new AbortController();
  const { signal } = controller;
  try {
    await answerQuestion(question, { policy: policy!, retriever }, { ...options, signal }, (event) =>
      say({ kind: 'event', run, event }),
    );
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    policy!.release();
  }
}

async function handle(request: WorkerRequest): Promise<void> {
  if (request.kind === 'world') {
    backend = await startBackend(request.wasm);
    retriever = createBm25Retriever(parsePassages(request.passages), { titleWeight: request.titleWeight });
  } else if (request.kind === 'policy') loadPolicy(request);
  else if (request.kind === 'ask') await ask(request);
}

let last = Promise.resolve();
addEventListener('message', ({ data }: MessageEvent<WorkerRequest>) => {
  if (data.kind === 'stop') {
    stoppedRun = data.run;
    return controller.abort(new DOMException('Stopped.', 'AbortError'));
  }
  last = last
    .then(() => handle(data))
    .catch((error: unknown) => say({ kind: 'failed', reason: String(error) }));
});
