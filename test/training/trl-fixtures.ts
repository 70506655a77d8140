/** What `scripts/fixtures` recorded of TRL's own code. */
import { readFixture } from '../fixtures/read.js';

interface Inputs {
  log_probs: number[][];
  inputs: { loss_mask: number[][]; reference_log_probs: number[][] };
  advantages_unbiased: number[];
  settings: { G: number };
}

export const grpo = readFixture<Inputs>('grpo.json');

/** The values of each row's trained tokens; null is NaN. */
export const trainedValues = (rows: readonly (readonly (number | null)[])[]): number[][] =>
  rows.map((row, b) =>
    row.map((value) => value ?? NaN).filter((_, t) => grpo.inputs.loss_mask[b][t] === 1),
  );
