/** Attention in blocks, compared with one masked product over all tokens of the tree. */
import * as tf from '@tensorflow/tfjs-core';
import { range } from 'd3-array';
import { beforeAll, expect, it } from 'vitest';
import { prefixTree, type PrefixTree } from '../../../lib/policy/model/prefix-tree.js';
import { attendTree, treeAttention } from '../../../lib/policy/model/tree-attention.js';
import { createRandom } from '../../../lib/random.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { MASKED } from '../../../lib/tensor/ops.js';
import { CONFIG } from '../../training/tiny.js';

const c = { ...CONFIG, numHeads: 4, numKeyValueHeads: 2, headDim: 4 };
const GROUPS = c.numHeads / c.numKeyValueHeads;
type Inputs = [tf.Tensor2D, tf.Tensor2D, tf.Tensor2D];

/**
 * Rows of the given lengths with a common prompt of 20 tokens; the last two share more.
 */
const treeOf = (...lengths: number[]): PrefixTree =>
  prefixTree(
    lengths.map((length, row) =>
      range(length).map((t) => (t < 20 ? 0 : t < 60 ? 1 + Math.min(row, lengths.length - 2) : row)),
    ),
  );

const TREES: [string, PrefixTree, numBlocks: number][] = [
  ['few short rows', treeOf(30, 45, 61), 1],
  ['rows of several lengths', treeOf(90, 210, 150, 70), 3],
  ['a long row', treeOf(530, 40, 40), 5],
];

const inputs = (name: string, numTokens: number): Inputs => {
  const random = createRandom(name);
  return [c.numHeads, c.numKeyValueHeads, c.numKeyValueHeads].map((heads) => {
    const values = range(numTokens * heads * c.headDim).map(() => random.normal());
    return tf.tensor2d(values, [numTokens, heads * c.headDim]);
  }) as Inputs;
};

/** 0 if a token may attend: to itself and to earlier tokens of its row. */
function ancestorBias({ ids, cells, firsts, shape: [, tokens] }: PrefixTree): tf.Tensor2D {
  const bias = ids.map(() => new Array<number>(ids.length).fill(MASKED));
  firsts.forEach((cell, token) => {
    for (let at = cell - (cell % tokens); at <= cell; at++) bias[token][cells[at]] = 0;
  });
  return tf.tensor2d(bias);
}

/** The same attention, head by head. */
const plain = ([q, k, v]: Inputs, bias: tf.Tensor2D): tf.Tensor2D => {
  const head = (x: tf.Tensor2D, i: number): tf.Tensor2D =>
    tf.slice(x, [0, i * c.headDim], [-1, c.headDim]);
  const heads = range(c.numHeads).map((h) => {
    const [hk, hv] = [k, v].map((x) => head(x, Math.floor(h / GROUPS)));
    const products = tf.matMul(head(q, h), hk, false, true);
    const scores = tf.add(tf.div(products, Math.sqrt(c.headDim)), bias);
    return tf.matMul<tf.Tensor2D>(tf.softmax(scores), hv);
  });
  return tf.concat(heads, 1);
};

beforeAll(() => useBackend('wasm'));

it.each(TREES)('attends to the preceding tokens of each row: %s', (name, tree, numBlocks) => {
  const attention = treeAttention(tree, c);
  expect(attention.blocks).toHaveLength(numBlocks);
  const given = inputs(name, tree.ids.length);
  const bias = ancestorBias(tree);
  const [dy] = inputs('dy', tree.ids.length);
  const results = (attend: (inputs: Inputs) => tf.Tensor2D): tf.Tensor[] => [
    attend(given),
    ...tf.grads((...x) => attend(x as Inputs))(given, dy),
  ];
  const expected = results((x) => plain(x, bias));
  results((x) => attendTree(x, attention, c)).forEach((result, i) => {
    const difference = tf.max(tf.abs(tf.sub(result, expected[i]))).dataSync()[0];
    expect(difference).toBeLessThan(1e-5);
  });
});

it('computes the query of a shared prefix once', () => {
  const same = range(70);
  const { blocks } = treeAttention(prefixTree([same, same, [...same, 7]]), c);
  expect(blocks.map(({ rows }) => rows)).toEqual([2]);
  const long = range(200);
  const trees = treeAttention(prefixTree([long, [...long, 7]]), c);
  expect(trees.blocks.map(({ rows }) => rows)).toEqual([1, 1, 2]);
});
