import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { useBackend } from '../../lib/tensor/backend.js';
import { chosenLogProbs } from '../../lib/tensor/ops.js';
import { explainedVariance, generalisedAdvantages, whiten } from '../../lib/training/ppo.js';
import { ppoLoss, valueLoss } from '../../lib/training/ppo.js';
import { readFixture } from '../fixtures/read.js';

interface PpoCase {
  name: string;
  gamma: number;
  lambda: number;
  advantages: number[];
  returns: number[];
  whitened: number[];
  values: number[];
  loss: number;
  value_loss: number;
  explained_variance: number;
  gradients: { logits: number[][][]; hidden: number[][][]; head: number[][]; bias: number[] };
}
interface Fixture {
  settings: { B: number; T: number; V: number; C: number } & Parameters<typeof ppoLoss>[3];
  inputs: {
    logits: number[][][];
    hidden: number[][][];
    head: number[][];
    bias: number[];
    action_ids: number[][];
    loss_mask: number[][];
    old_log_probs: number[][];
    old_values: number[][];
    token_rewards: number[][];
  };
  cases: PpoCase[];
}
const { settings, inputs, cases } = readFixture<Fixture>('ppo.json');
const { T, V, C } = settings;

await useBackend('wasm');

/** The numbers of each row's trained tokens. */
const rowsOf = (table: number[][]): number[][] =>
  table.map((row, b) => row.filter((_, t) => inputs.loss_mask[b][t] === 1));
const pick = (table: number[][]): number[] => rowsOf(table).flat();
const places = inputs.loss_mask.flatMap((row, b) => row.flatMap((m, t) => (m ? [b * T + t] : [])));
const close = (found: ArrayLike<number>, expected: readonly number[]): void =>
  expected.forEach((value, i) => expect(Math.abs(found[i] - value)).toBeLessThan(1e-5));

describe.each(cases)(
  '$name, compared with the reference within 1e-5,',
  ({ gamma, lambda, ...expected }) => {
    const [rewards, oldValues] = [rowsOf(inputs.token_rewards), rowsOf(inputs.old_values)];
    const estimates = rewards.map((row, b) =>
      generalisedAdvantages(row, oldValues[b], { gamma, lambda }),
    );
    const advantages = whiten(estimates.map((estimate) => estimate.advantages)).flat();
    const returns = estimates.flatMap((estimate) => estimate.returns);

    it('has the same advantages, returns and explained variance', () => {
      close(
        estimates.flatMap((estimate) => estimate.advantages),
        expected.advantages,
      );
      close(returns, expected.returns);
      close(advantages, expected.whitened);
      expect(explainedVariance(returns, oldValues.flat())).toBeCloseTo(
        expected.explained_variance,
        6,
      );
    });

    it('has the same values, loss and gradients', () => {
      const tokens = {
        oldLogProbs: tf.tensor1d(pick(inputs.old_log_probs)),
        advantages: tf.tensor1d(advantages),
        oldValues: tf.tensor1d(oldValues.flat()),
        returns: tf.tensor1d(returns),
        weights: tf.fill<tf.Rank.R1>([places.length], 1 / places.length),
      };
      const actions = tf.tensor1d(pick(inputs.action_ids), 'int32');
      const valuesOf = (hidden: tf.Tensor, head: tf.Tensor, bias: tf.Tensor): tf.Tensor1D =>
        tf.add(tf.squeeze<tf.Tensor1D>(tf.matMul(hidden, head), [1]), bias);
      const kept = (table: number[][][], width: number): tf.Tensor2D => {
        const flat = table.flat();
        return tf.tensor2d(
          places.map((place) => flat[place]),
          [places.length, width],
        );
      };
      const at = [
        kept(inputs.logits, V),
        kept(inputs.hidden, C),
        tf.tensor2d(inputs.head),
        tf.tensor1d(inputs.bias),
      ];
      const values = valuesOf(at[1], at[2], at[3]);
      close(values.dataSync(), expected.values);
      expect(valueLoss(values, tokens, settings.valueClip).dataSync()[0]).toBeCloseTo(
        expected.value_loss,
        5,
      );
      const { value, grads } = tf.valueAndGrads((...[logits, hidden, head, bias]: tf.Tensor[]) =>
        ppoLoss(
          chosenLogProbs(logits as tf.Tensor2D, actions),
          valuesOf(hidden, head, bias),
          tokens,
          settings,
        ),
      )(at);
      expect(Math.abs(value.dataSync()[0] - expected.loss)).toBeLessThan(1e-5);
      const { logits, hidden, head, bias } = expected.gradients;
      const flatRows = (table: number[][][]): number[] =>
        places.flatMap((place) => table.flat()[place]);
      close(grads[0].dataSync(), flatRows(logits));
      close(grads[1].dataSync(), flatRows(hidden));
      close(grads[2].dataSync(), head.flat());
      close(grads[3].dataSync(), bias);
    });
  },
);

describe('generalisedAdvantages', () => {
  it('are the return minus the value for gamma = lambda = 1', () => {
    const estimate = generalisedAdvantages([0, 0.5, 1], [0.2, 0.4, 0.9], { gamma: 1, lambda: 1 });
    [1.3, 1.1, 0.1].forEach((value, t) => expect(estimate.advantages[t]).toBeCloseTo(value, 12));
    [1.5, 1.5, 1].forEach((value, t) => expect(estimate.returns[t]).toBeCloseTo(value, 12));
  });

  it('are empty without tokens; equal ones are 0 after whitening', () => {
    expect(generalisedAdvantages([], [], { gamma: 1, lambda: 1 })).toEqual({
      advantages: [],
      returns: [],
    });
    expect(whiten([[2, 2], [2]])).toEqual([[0, 0], [0]]);
    expect(explainedVariance([1, 1], [0, 2])).toBe(0);
  });
});
