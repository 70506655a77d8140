/**
 * The paper's run: what it is made of, what was measured for it, and what is taken from
 * data sheets.
 */
import type { Engine } from './simulation.js';

/**
 * Appendix A.4, and Search-R1's GRPO script: a step's rollouts, and the machine that they
 * run on.
 */
export const PAPER_RUN = {
  questions: 512,
  groupSize: 5,
  gpus: 8,
  steps: 500,
  topK: 3,
  passages: 21_015_324,
  dimensions: 768,
};

/**
 * What an agent of 3 or 7 billion parameters reads and writes: means over 275 recorded
 * rollouts of Search-R1, 634 calls of the model, in tokens of SmolLM2. The paper cuts
 * what a turn brings at 500.
 */
export const AGENT = {
  promptTokens: 156,
  writtenPerCall: 62,
  foundPerQuery: 482,
  mostFoundPerTurn: 500,
};

/** Qwen2.5-7B as its configuration has it; bfloat16. */
const MODEL = { parameters: 7.62e9, keyValueBytesPerToken: 2 * 28 * 4 * 128 * 2 };
/**
 * NVIDIA's data sheet of the H100 SXM: bytes and multiplications (dense, bfloat16) a
 * second.
 */
const GPU = { bytesPerSecond: 3.35e12, operationsPerSecond: 989e12 };
/** Shares of that which are taken to be reached: assumed, not measured. */
const REACHED = { bandwidth: 0.8, generating: 0.5, training: 0.4 };
/** Mean context while decoding. */
const CONTEXT_TOKENS = 1000;
const BYTES = 2;

/** What is not measured can be off: each is halved and doubled on the page. */
export interface Assumptions {
  /** Speed of a GPU over {@link GPU}'s. */
  gpuSpeed: number;
  /** Tokens a call over {@link AGENT}'s. */
  written: number;
  /** Tokens found a sub-query over {@link AGENT}'s. */
  found: number;
  /** Most tokens that a turn brings over {@link AGENT}'s. */
  cut: number;
  /** Time of a search over the measured one. */
  searchTime: number;
}
export const ASSUMED: Assumptions = { gpuSpeed: 1, written: 1, found: 1, cut: 1, searchTime: 1 };

/** Milliseconds of so many floating-point operations. */
const computeMs = (operations: number, reached: number): number =>
  (operations / (GPU.operationsPerSecond * reached)) * 1000;

/**
 * A GPU that holds the whole model: a step reads all weights once and each row's keys and
 * values.
 */
export function gpuEngine(speed: number): Engine {
  const readMs = (bytes: number): number =>
    (bytes / (GPU.bytesPerSecond * REACHED.bandwidth)) * 1000;
  const tokenMs = computeMs(2 * MODEL.parameters, REACHED.generating);
  return {
    stepMs: (rows) =>
      Math.max(
        readMs(MODEL.parameters * BYTES + rows * CONTEXT_TOKENS * MODEL.keyValueBytesPerToken),
        rows * tokenMs,
      ) / speed,
    readMs: (tokens) => (tokens * tokenMs) / speed,
  };
}

/**
 * Milliseconds of the update with so many tokens in all rollouts, on all GPUs:
 * log-probabilities of the policy and of the reference (2 operations a parameter and
 * token each), then forward, forward again (checkpointing) and backward (8).
 */
export const updateMs = (tokens: number, gpus: number, speed: number): number =>
  computeMs((2 + 2 + 8) * MODEL.parameters * tokens, REACHED.training) / gpus / speed;

/** Cores of the retrieval server. */
export const SEARCH_CORES = 64;
