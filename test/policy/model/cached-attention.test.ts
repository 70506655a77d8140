/** Attention compared with a plain computation, one query at a time. */
import * as tf from '@tensorflow/tfjs-core';
import { range, sum } from 'd3-array';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  attendBlocks,
  attendCausally,
  biasPerHead,
  causalBlocks,
  type CachedKeys,
} from '../../../lib/policy/model/cached-attention.js';
import type { KeyValue } from '../../../lib/policy/model/kv-cache.js';
import { createRandom } from '../../../lib/random.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { MASKED } from '../../../lib/tensor/ops.js';
import { CONFIG } from '../../training/tiny.js';

const [ROWS, CACHED, LONG] = [2, 40, 530];
const c = { ...CONFIG, numHeads: 4, numKeyValueHeads: 2, headDim: 4 };
const GROUPS = c.numHeads / c.numKeyValueHeads;
const random = createRandom('attention');

const normal = (...shape: [number, number, number]): tf.Tensor3D => {
  const values = Array.from({ length: tf.util.sizeFromShape(shape) }, () => random.normal());
  return tf.tensor3d(values, shape);
};
const keyValue = (tokens: number): KeyValue => {
  const shape = [ROWS * c.numKeyValueHeads, tokens, c.headDim] as const;
  return { k: normal(...shape), v: normal(...shape) };
};
const queryKeyValue = (tokens: number) => ({
  q: normal(ROWS * c.numKeyValueHeads, GROUPS * tokens, c.headDim),
  ...keyValue(tokens),
});
/** A cache with one full row and one half-full row. */
const cachedKeys = (): CachedKeys => {
  const biasOf = (row: number, l: number): number => (row === 1 && l >= 20 ? MASKED : 0);
  const bias = tf.tensor2d(range(ROWS).map((row) => range(CACHED).map((l) => biasOf(row, l))));
  return { ...keyValue(CACHED), bias, perHead: biasPerHead(bias, c) };
};

/** softmax(q k' / sqrt(D)) v of each query over real cached keys and its row's so far. */
function expected(
  { q, k, v }: ReturnType<typeof queryKeyValue>,
  cached?: CachedKeys,
): number[][][] {
  const tokens = k.shape[1];
  const [keys, values] = [k.arraySync(), v.arraySync()];
  const isReal = cached?.bias.arraySync().map((row) => row.map((bias) => bias === 0)) ?? [];
  const real = (x: tf.Tensor3D | undefined): number[][][] =>
    x?.arraySync().map((head, i) => {
      const row = isReal[Math.floor(i / c.numKeyValueHeads)];
      return head.filter((_, l) => row[l]);
    }) ?? keys.map(() => []);
  const [oldKeys, oldValues] = [real(cached?.k), real(cached?.v)];
  return q.arraySync().map((queries, head) =>
    queries.map((query, i) => {
      const seen = (i % tokens) + 1;
      const looked = [...oldKeys[head], ...keys[head].slice(0, seen)];
      const taken = [...oldValues[head], ...values[head].slice(0, seen)];
      const weights = looked.map((key) =>
        Math.exp(sum(key, (x, d) => x * query[d]) / Math.sqrt(c.headDim)),
      );
      const total = sum(weights);
      return range(c.headDim).map((d) => sum(taken, (value, l) => weights[l] * value[d]) / total);
    }),
  );
}

const expectClose = (x: tf.Tensor, y: number[][][]): void =>
  expect(tf.max(tf.abs(tf.sub(x, tf.tensor3d(y)))).dataSync()[0]).toBeLessThan(1e-5);

describe('attention', () => {
  beforeAll(() => useBackend('wasm'));

  it('splits the queries of long rows into blocks, each with the keys up to its end', () => {
    expect(causalBlocks(512, c)).toHaveLength(1);
    const blocks = causalBlocks(LONG, c, CACHED);
    expect(blocks.map(({ start, end, bias }) => [start, end, ...bias.shape])).toEqual([
      [0, 128, 256, 168],
      [128, 256, 256, 296],
      [256, 384, 256, 424],
      [384, 512, 256, 552],
      [512, 530, 36, 570],
    ]);
  });

  it('is causal in one block and in several', () => {
    for (const tokens of [7, LONG]) {
      const x = queryKeyValue(tokens);
      expectClose(attendCausally(x, causalBlocks(tokens, c), c), expected(x));
    }
  });

  it('includes cached tokens, but no padding', () => {
    const cached = cachedKeys();
    const long = queryKeyValue(LONG);
    const blocks = causalBlocks(LONG, c, CACHED);
    expectClose(attendCausally(long, blocks, c, cached), expected(long, cached));
    for (const tokens of [1, 7]) {
      const x = queryKeyValue(tokens);
      const bias = tf.zeros<tf.Rank.R2>([ROWS, tokens]);
      const current = { ...x, bias, perHead: biasPerHead(bias, c, tokens) };
      expectClose(attendBlocks(x.q, [cached, current], c), expected(x, cached));
    }
  });
});
