/** What the playground's page is told besides the files that it carries. */
import type { RolloutConfig } from '../../rollout/options.js';

export interface PlaygroundMethod {
  name: string;
  title: string;
  rollout: RolloutConfig;
}

/** Weights of every method at one point of the training. */
export interface PlaygroundCheckpoint {
  id: string;
  title: string;
  /** The folder of the model. */
  model: string;
  /** The folder of each method's adapter by the method's name; empty before training. */
  adapters: Readonly<Record<string, string>>;
}

export interface PlaygroundSetup {
  methods: PlaygroundMethod[];
  /** Model by model, each in the order of its training. */
  checkpoints: PlaygroundCheckpoint[];
  /** The id of the one that the page begins with. */
  firstCheckpoint: string;
  /** The question that the page begins with; default the first of its list. */
  firstQuestion?: string;
  /** Weight of a title's words in BM25. */
  titleWeight: number;
  /** How BM25 makes words of texts. */
  analyzer: string;
}

/** Names of the files that are no weights. */
export const SETUP_FILE = 'setup.json';
export const PASSAGES_FILE = 'passages.jsonl';
export const QUESTIONS_FILE = 'questions.jsonl';
export const WORKER_FILE = 'worker.js';
export const WASM_FILE = 'tfjs-backend-wasm-simd.wasm';
