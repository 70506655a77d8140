import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { useBackend } from '../../lib/tensor/backend.js';
import { chosenLogProbs, gatherRows } from '../../lib/tensor/ops.js';
import { groupAdvantages } from '../../lib/training/advantages.js';
import { clipStatistics, grpoLoss, type GrpoRow } from '../../lib/training/grpo.js';
import { readFixture } from '../fixtures/read.js';

interface GrpoCase {
  name: string;
  ddof: 0 | 1;
  beta: number;
  aggregation: 'token_mean' | 'sequence_mean';
  loss: number;
  mean_kl: number;
  clip_ratio: number;
  gradient: number[][][];
}
interface Fixture {
  settings: { G: number; B: number; T: number; V: number; clip: number };
  inputs: {
    logits: number[][][];
    action_ids: number[][];
    loss_mask: number[][];
    old_log_probs: number[][];
    reference_log_probs: number[][];
    rewards: number[];
  };
  cases: GrpoCase[];
}
const { settings, inputs, cases } = readFixture<Fixture>('grpo.json');
const { G, B, T, V, clip } = settings;

await useBackend('wasm');

/** Row and position of every trained token. */
const kept = inputs.loss_mask.flatMap((row, b) => row.flatMap((m, t) => (m ? [{ b, t }] : [])));
const pick = (table: number[][]): number[] => kept.map(({ b, t }) => table[b][t]);
const rowLengths = inputs.loss_mask.map((row) => row.reduce((a, m) => a + m, 0));

function weightsOf(aggregation: GrpoCase['aggregation']): number[] {
  return kept.map(({ b }) =>
    aggregation === 'token_mean' ? 1 / kept.length : 1 / (B * rowLengths[b]),
  );
}

const advantagesOf = (ddof: 0 | 1): number[] =>
  groupAdvantages(inputs.rewards, G, { unbiased: ddof === 1 });

/** Log-probs (M) of the trained tokens, from logits (B*T, V). */
function logProbsOf(logits: tf.Tensor2D): tf.Tensor1D {
  const positions = tf.tensor1d(
    kept.map(({ b, t }) => b * T + t),
    'int32',
  );
  return chosenLogProbs(
    gatherRows(logits, positions),
    tf.tensor1d(pick(inputs.action_ids), 'int32'),
  );
}

const allLogits = (): tf.Tensor2D => tf.tensor2d(inputs.logits.flat(2), [B * T, V]);

describe.each(cases)(
  '$name, compared with the reference,',
  ({ ddof, beta, aggregation, ...expected }) => {
    const advantages = (): number[] => kept.map(({ b }) => advantagesOf(ddof)[b]);

    it('has the same loss and gradient within 1e-5', () => {
      const tokens = {
        oldLogProbs: tf.tensor1d(pick(inputs.old_log_probs)),
        referenceLogProbs: tf.tensor1d(pick(inputs.reference_log_probs)),
        advantages: tf.tensor1d(advantages()),
        weights: tf.tensor1d(weightsOf(aggregation)),
      };
      const differentiate = tf.valueAndGrad((logits) =>
        grpoLoss(logProbsOf(logits as tf.Tensor2D), tokens, { clip, beta }),
      );
      const { value, grad } = differentiate(allLogits());
      expect(Math.abs(value.dataSync()[0] - expected.loss)).toBeLessThan(1e-5);
      const gradient = grad.dataSync();
      const worst = Math.max(...expected.gradient.flat(2).map((g, i) => Math.abs(g - gradient[i])));
      expect(worst).toBeLessThan(1e-5);
    });

    it('has the same token means within 1e-6', () => {
      const logProbs = tf.tidy(() => logProbsOf(allLogits()).dataSync());
      const [oldLogProbs, referenceLogProbs] = [
        inputs.old_log_probs,
        inputs.reference_log_probs,
      ].map(pick);
      const row = { oldLogProbs, referenceLogProbs, advantages: advantages() } as GrpoRow;
      const pass = { rows: [row], values: { logProbs: Float32Array.from(logProbs) } };
      expect(clipStatistics([pass], { numTokens: kept.length, clip })).toEqual({
        kl: expect.closeTo(expected.mean_kl, 6) as number,
        clip_ratio: expect.closeTo(expected.clip_ratio, 6) as number,
      });
    });
  },
);

it('grpoLoss gives no gradient to clipped tokens and a full one to the others', () => {
  // Ratio 2 with a positive advantage and ratio 1/2 with a negative one are clipped;
  // their opposites are not.
  const logProbs = tf.tensor1d([Math.log(2), Math.log(0.5), Math.log(2), Math.log(0.5)]);
  const zeros = tf.zeros<tf.Rank.R1>([4]);
  const tokens = {
    oldLogProbs: zeros,
    referenceLogProbs: zeros,
    advantages: tf.tensor1d([1, -1, -1, 1]),
    weights: tf.ones<tf.Rank.R1>([4]),
  };
  const gradient = tf.grad((x) => grpoLoss(x as tf.Tensor1D, tokens, { clip: 0.2, beta: 0 }))(
    logProbs,
  );
  [0, 0, 2, -0.5].forEach((g, i) => expect(gradient.dataSync()[i]).toBeCloseTo(g, 6));
});

it('clipStatistics is zero without passes', () => {
  expect(clipStatistics([], { numTokens: 0, clip })).toEqual({ kl: 0, clip_ratio: 0 });
});

it('clipStatistics counts by the geometric mean of a row with ratios per sequence', () => {
  const row = (oldLogProbs: number[]): GrpoRow =>
    ({
      oldLogProbs,
      referenceLogProbs: oldLogProbs.map(() => 0),
      advantages: oldLogProbs.map(() => 1),
    }) as unknown as GrpoRow;
  const rows = [row([-0.5]), row([-0.4, 0.4])];
  const passes = [{ rows, values: { logProbs: Float32Array.of(0, 0, 0) } }];
  const shareOf = (importanceSamplingLevel: 'token' | 'sequence'): number =>
    clipStatistics(passes, { numTokens: 3, clip: 0.2, importanceSamplingLevel }).clip_ratio;
  // Ratios are e^0.5, e^0.4 and e^-0.4; the mean of the second row is 1.
  expect(shareOf('token')).toBeCloseTo(2 / 3, 6);
  expect(shareOf('sequence')).toBeCloseTo(1 / 3, 6);
  expect(clipStatistics(passes, { numTokens: 3, clip: 0.2 }).clip_ratio).toBe(shareOf('token'));
});
