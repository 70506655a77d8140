/**
 * A worker that answers with one policy, so that each method has a thread of its own and
 * the page stays free.
 */
import './no-eval.js';
import { setWasmPaths, version_wasm } from '@tensorflow/tfjs-backend-wasm';
import '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import { parsePassages } from '../../../data/flashrag-text.js';
import { LocalPolicy } from '../../../policy/local-policy.js';
import { disposeMerged, mergePeftArrays } from '../../../policy/lora.js';
import { parsePeftConfig } from '../../../policy/peft.js';
import { createModel } from '../../../policy/model.js';
import { parseSafetensors } from '../../../tensor/safetensors.js';
import { ANALYZERS } from '../../../retrieval/words.js';
import { createBm25Retriever, type Bm25Retriever } from '../../../retrieval/bm25.js';
import { installWasmKernels } from '../../../tensor/wasm.js';
import { answerQuestion, type AnswerEvent, type AskOptions } from '../../../rollout/answer.js';

/** What a worker searches, and the WebAssembly that it computes with. */
export interface World {
  wasm: Uint8Array<ArrayBuffer>;
  passages: string;
  titleWeight: number;
  analyzer: string;
}

/** What a policy is made of; of an adapter, the bytes of its two files. */
export interface PolicyFiles {
  name: string;
  config: unknown;
  tokenizer: object;
  weights: Uint8Array;
  adapter: { config: unknown; weights: Uint8Array } | null;
}

/**
 * What a worker is told: first what it is made of, then what to ask. `stop` ends the last
 * question, also one that waits.
 */
export type WorkerRequest =
  | { kind: 'load'; world: World; files: PolicyFiles }
  | { kind: 'ask'; run: number; question: string; options: Omit<AskOptions, 'signal'> }
  | { kind: 'stop' };

/** What a worker says; `run` is the number that the question came with. */
export type WorkerMessage =
  /** It has a policy and waits for questions. */
  | { kind: 'ready'; backend: string }
  | { kind: 'event'; run: number; event: AnswerEvent }
  | { kind: 'failed'; reason: string };

let retriever: Bm25Retriever;
let policy: LocalPolicy;
let controller: AbortController;

const say = (message: WorkerMessage): void => postMessage(message);

/**
 * Makes wasm, as in Node, the current backend, or `cpu` where it does not start. Returns
 * words that name it.
 */
async function startBackend(wasm: Uint8Array<ArrayBuffer>): Promise<string> {
  // One thread, as in Node: the same sums in the same order.
  tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  tf.env().platform.fetch = async () => new Response(wasm);
  setWasmPaths('', true); // by the fetch above
  // The binary needs SIMD instructions. tfjs waits for ever where it does not compile, so
  // that is tried first.
  const isCompiled = await WebAssembly.compile(wasm).then(
    () => true,
    () => false,
  );
  if (isCompiled && (await tf.setBackend('wasm'))) {
    installWasmKernels();
    return `WebAssembly, tfjs ${version_wasm}`;
  }
  await tf.setBackend('cpu');
  return `plain JavaScript, tfjs ${version_wasm}`;
}

async function load({ world, files }: Extract<WorkerRequest, { kind: 'load' }>): Promise<void> {
  const backend = await startBackend(world.wasm);
  const { titleWeight, analyzer } = world;
  const { analyze } = ANALYZERS.get(analyzer);
  retriever = createBm25Retriever(parsePassages(world.passages), { titleWeight, analyze });
  const model = createModel({ ...files, arrays: parseSafetensors(files.weights) });
  let { weights } = model;
  if (files.adapter) {
    const arrays = parseSafetensors(files.adapter.weights);
    weights = mergePeftArrays(weights, arrays, model.config, parsePeftConfig(files.adapter.config));
    disposeMerged(model.weights, weights);
  }
  policy = new LocalPolicy(files.name, weights, model.config, model.tokenizer);
  say({ kind: 'ready', backend });
}

async function ask(
  { run, question, options }: Extract<WorkerRequest, { kind: 'ask' }>,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  try {
    await answerQuestion(question, { policy, retriever }, { ...options, signal }, (event) =>
      say({ kind: 'event', run, event }),
    );
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    policy.release();
  }
}

/** One thing after the other. */
let last = Promise.resolve();
addEventListener('message', ({ data }: MessageEvent<WorkerRequest>) => {
  if (data.kind === 'stop') return controller.abort(new DOMException('Stopped.', 'AbortError'));
  if (data.kind === 'ask') controller = new AbortController();
  const signal = controller?.signal;
  last = last
    .then(() => (data.kind === 'load' ? load(data) : ask(data, signal)))
    .catch((error: unknown) => say({ kind: 'failed', reason: String(error) }));
});
