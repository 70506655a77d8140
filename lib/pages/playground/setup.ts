/** What the playground's page carries, packed by name. */
import type { Question } from '../../data/question.js';
import type { RolloutConfig } from '../../rollout/options.js';

export interface PlaygroundMethod {
  name: string;
  title: string;
  rollout: RolloutConfig;
}

/** Weights of every method at one point in training. */
export interface PlaygroundCheckpoint {
  id: string;
  title: string;
  model: string;
  /** Adapter folders by method; empty before training. */
  adapters: Readonly<Record<string, string>>;
}

export interface PlaygroundSetup {
  methods: PlaygroundMethod[];
  /** By model, in the order of training. */
  checkpoints: PlaygroundCheckpoint[];
  firstCheckpoint: string;
  questions: Question[];
  /** The initially selected question. Default: the first one. */
  firstQuestion?: string;
  titleWeight: number;
  analyzer: string;
}

/** The files of a model's folder and of an adapter's. */
export const MODEL_FILES = ['config.json', 'tokenizer.json', 'model.safetensors'];
export const ADAPTER_FILES = ['adapter_config.json', 'adapter_model.safetensors'];
/** Names of packed files other than weights. */
export const SETUP_FILE = 'setup.json';
export const PASSAGES_FILE = 'passages.jsonl';
export const WORKER_FILE = 'worker.js';
export const WASM_FILE = 'tfjs-backend-wasm-simd.wasm';
