import { readFileSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { numParameters, parseModelConfig } from '../../../lib/policy/model/families.js';
import { prefixTree } from '../../../lib/policy/model/prefix-tree.js';
import {
  forward,
  computeLogits,
  rotaryTable,
  type RotaryTable,
} from '../../../lib/policy/model/transformer.js';
import {
  arraysFromWeights,
  weightsFromArrays,
  type Weights,
} from '../../../lib/policy/model/weights.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { chosenLogProbs, gatherRows } from '../../../lib/tensor/ops.js';
import { parseSafetensors, encodeSafetensors } from '../../../lib/tensor/safetensors.js';

const folder = new URL('../../fixtures/llama-tiny/', import.meta.url);
const read = (name: string): Buffer => readFileSync(new URL(name, folder));
const config = parseModelConfig(JSON.parse(read('config.json').toString()));
const arrays = parseSafetensors(read('model.safetensors'));

interface Expected {
  input_ids: number[][];
  logits: number[][][];
  loss: number;
  gradients: Record<string, { norm: number; first: number[] }>;
}
const expected = JSON.parse(read('expected.json').toString()) as Expected;

let weights: Weights;
let table: RotaryTable;
beforeAll(async () => {
  await useBackend((process.env.PARALLELSEARCH_BACKEND as 'wasm' | undefined) ?? 'wasm');
  weights = weightsFromArrays(arrays, config);
  table = rotaryTable(config, config.maxPositionEmbeddings);
});

/** Mean cross-entropy of every next token of the fixture's rows. */
function crossEntropy(): tf.Scalar {
  const tree = prefixTree(expected.input_ids);
  const [, tokens] = tree.shape;
  const hidden = forward(weights, tree, config, table);
  const positions = tree.cells.filter((_, cell) => cell % tokens < tokens - 1);
  const picked = gatherRows(hidden, tf.tensor1d(positions, 'int32'));
  const next = tf.tensor1d(
    expected.input_ids.flatMap((row) => row.slice(1)),
    'int32',
  );
  return tf.neg(tf.mean(chosenLogProbs(computeLogits(weights, picked, config), next))) as tf.Scalar;
}

describe('the transformer compared with transformers (Python)', () => {
  it('gives the same logits within 5e-5', () => {
    const logits = tf.tidy(() => {
      const tree = prefixTree(expected.input_ids);
      const logits = computeLogits(weights, forward(weights, tree, config, table), config);
      return tf.gather(logits, tf.tensor1d(tree.cells, 'int32')).arraySync();
    });
    const flat = expected.logits.flat();
    const worst = Math.max(
      ...logits.map((row, n) => Math.max(...row.map((v, i) => Math.abs(v - flat[n][i])))),
    );
    expect(worst).toBeLessThan(5e-5);
  });

  it('gives the same loss within 1e-5 and gradients within 1e-4 of their norm', async () => {
    const keys = Object.keys(weights);
    const gradientOf = tf.valueAndGrads((...tensors: tf.Tensor[]) => {
      const saved = weights;
      weights = Object.fromEntries(keys.map((key, i) => [key, tensors[i]]));
      const loss = crossEntropy();
      weights = saved;
      return loss;
    });
    const { value, grads } = gradientOf(keys.map((key) => weights[key]));
    expect(value.dataSync()[0] - expected.loss).toBeCloseTo(0, 5);
    const gradients = await arraysFromWeights(
      Object.fromEntries(keys.map((k, i) => [k, grads[i]])),
      config,
    );
    for (const [name, { norm, first }] of Object.entries(expected.gradients)) {
      const values = gradients.get(name)!.values;
      expect(Math.abs(Math.hypot(...values) - norm), name).toBeLessThan(1e-4 * norm);
      first.forEach((v, i) => expect(Math.abs(values[i] - v), name).toBeLessThan(1e-4 * norm));
    }
  });

  it('preserves every weight through fusing, splitting, writing and reading', async () => {
    const back = parseSafetensors(
      encodeSafetensors(await arraysFromWeights(weights, config), { storage: 'F32' }),
    );
    for (const [name, { shape, values }] of arrays) {
      expect(back.get(name)!.shape).toEqual(shape);
      expect(back.get(name)!.values).toEqual(values);
    }
    const total = [...arrays.values()].reduce((sum, a) => sum + a.values.length, 0);
    expect(numParameters(config)).toBe(total);
  });

  it('names a missing tensor', () => {
    const without = new Map([...arrays].filter(([name]) => name !== 'model.norm.weight'));
    expect(() => weightsFromArrays(without, config)).toThrow('model.norm.weight');
  });
});
