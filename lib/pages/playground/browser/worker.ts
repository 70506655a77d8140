/** A worker per policy: methods run in parallel, and the page stays responsive. */
import '@tensorflow/tfjs-backend-cpu';
import { setWasmPaths, version_wasm } from '@tensorflow/tfjs-backend-wasm';
import * as tf from '@tensorflow/tfjs-core';
import { parsePassages } from '../../../data/flashrag-text.js';
import { parsePeftConfig } from '../../../policy/folders/peft.js';
import { LocalPolicy } from '../../../policy/local-policy.js';
import { parseModelConfig } from '../../../policy/model/families.js';
import { disposeMerged, mergePeftArrays } from '../../../policy/model/lora.js';
import { createModel } from '../../../policy/model/model.js';
import { ANALYZERS } from '../../../retrieval/analyzers.js';
import { createBm25Retriever, type Bm25Retriever } from '../../../retrieval/bm25.js';
import { answerQuestion, type AnswerEvent } from '../../../rollout/answer-question.js';
import type { RolloutConfig } from '../../../rollout/options.js';
import type { Trajectory } from '../../../rollout/trajectory.js';
import { parseSafetensors } from '../../../tensor/safetensors.js';
import { installWasmKernels } from '../../../tensor/wasm.js';
import { createTokenizer } from '../../../text/tokenizer/tokenizer.js';
import type { PlaygroundSetup } from '../setup.js';
import { delayRetriever, pacePolicy } from './pacing.js';

export type FolderFiles = Record<string, Uint8Array<ArrayBuffer>>;

export interface WorkerParts extends Pick<PlaygroundSetup, 'titleWeight' | 'analyzer'> {
  wasm: Uint8Array<ArrayBuffer>;
  passages: string;
  name: string;
  model: FolderFiles;
  adapter: FolderFiles | null;
}

interface AskSettings {
  rollout: RolloutConfig;
  /** Extra milliseconds per search turn. */
  delayMs: number;
  /** 0 means unlimited. */
  tokensPerSecond: number;
}

/** What happens after a question, with the milliseconds since then. */
export type PlaygroundEvent = { elapsedMs: number } & (
  | AnswerEvent
  | { type: 'end'; trajectory: Trajectory }
);

/** `load` comes first; `stop` aborts the last question. */
export type WorkerRequest =
  | { kind: 'load'; parts: WorkerParts }
  | { kind: 'ask'; run: number; question: string; options: AskSettings }
  | { kind: 'stop' };

/** `run` is the number that came with the question. */
export type WorkerMessage =
  | { kind: 'ready'; backend: string }
  | { kind: 'event'; run: number; event: PlaygroundEvent }
  | { kind: 'failed'; reason: string };

let retriever: Bm25Retriever;
let policy: LocalPolicy;
let controller: AbortController;

const post = (message: WorkerMessage): void => postMessage(message);

/** Starts wasm, or the slow `cpu` backend if wasm fails. Returns the backend's name. */
async function startBackend(wasm: Uint8Array<ArrayBuffer>): Promise<string> {
  // One thread, as in Node: the same sums in the same order.
  tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  tf.env().platform.fetch = async () => new Response(wasm);
  setWasmPaths('', true); // by the fetch above
  // tfjs hangs if the binary, which needs SIMD, does not compile.
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

const parseJson = (bytes: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(bytes));

async function load({ wasm, passages, titleWeight, ...parts }: WorkerParts): Promise<void> {
  const backend = await startBackend(wasm);
  const { analyze } = ANALYZERS.get(parts.analyzer);
  retriever = createBm25Retriever(parsePassages(passages), { titleWeight, analyze });
  const tokenizerJson = parseJson(parts.model['tokenizer.json']) as object;
  const model = createModel({
    config: parseModelConfig(parseJson(parts.model['config.json'])),
    tokenizerJson,
    tokenizer: createTokenizer(tokenizerJson),
    arrays: parseSafetensors(parts.model['model.safetensors']),
  });
  let { weights } = model;
  if (parts.adapter) {
    const arrays = parseSafetensors(parts.adapter['adapter_model.safetensors']);
    const config = parsePeftConfig(parseJson(parts.adapter['adapter_config.json']));
    weights = mergePeftArrays(weights, arrays, model.config, config);
    disposeMerged(model.weights, weights);
  }
  policy = new LocalPolicy(parts.name, weights, model.config, model.tokenizer);
  post({ kind: 'ready', backend });
}

async function ask(
  { run, question, options }: Extract<WorkerRequest, { kind: 'ask' }>,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  const { rollout, delayMs, tokensPerSecond } = options;
  const start = performance.now();
  const report = (event: AnswerEvent | { type: 'end'; trajectory: Trajectory }): void =>
    post({ kind: 'event', run, event: { ...event, elapsedMs: performance.now() - start } });
  const by = {
    policy: pacePolicy(policy, tokensPerSecond),
    retriever: delayRetriever(retriever, delayMs),
  };
  try {
    const trajectory = await answerQuestion(question, by, { rollout, signal, onEvent: report });
    report({ type: 'end', trajectory });
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    policy.release();
  }
}

/** Requests are handled one at a time. */
let queue = Promise.resolve();
addEventListener('message', ({ data }: MessageEvent<WorkerRequest>) => {
  if (data.kind === 'stop') return controller.abort(new DOMException('Stopped.', 'AbortError'));
  if (data.kind === 'ask') controller = new AbortController();
  const signal = controller?.signal;
  queue = queue
    .then(() => (data.kind === 'load' ? load(data.parts) : ask(data, signal)))
    .catch((error: unknown) => post({ kind: 'failed', reason: String(error) }));
});
