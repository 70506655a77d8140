/**
 * Operations that tfjs lacks or that are slow: a gather with a gradient on every backend,
 * and the layers of a Llama-type transformer with closed-form gradients. The caller
 * disposes of every result (or `tf.tidy` does).
 * Shape letters: B rows, T tokens, N = B*T, C width, H query heads, K key-value heads, D
 * head width, L cached tokens, V vocabulary.
 */
import * as tf from '@tensorflow/tfjs-core';
import { range } from 'd3-array';

/** Bias of a token that attention must ignore. */
export const MASKED = -1e9;

type Save = (tensors: tf.Tensor[]) => void;

/**
 * `tf.customGrad` with types. Tensors the gradient needs must go through `save`: those of
 * a surrounding `tf.tidy` are disposed of by then.
 */
function withGradient<O extends tf.Tensor>(
  inputs: tf.Tensor[],
  forward: (save: Save) => O,
  backward: (dy: O, saved: tf.Tensor[]) => tf.Tensor[],
): O {
  const op = tf.customGrad((...args) => {
    const save = args[args.length - 1] as tf.GradSaveFunc;
    const value = forward((tensors) => save(tensors));
    return { value, gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => backward(dy as O, saved) };
  });
  return op(...inputs);
}

/** Whether the current backend has this project's own kernel. */
const hasKernel = (name: string): boolean => tf.getKernel(name, tf.getBackend()) !== undefined;

const runKernel = <T extends tf.Tensor>(
  name: string,
  inputs: Record<string, tf.Tensor>,
  attributes: Record<string, number>,
): T => tf.engine().runKernel<T>(name, inputs, attributes);

type Kernel<Arguments, Result> = (args: Arguments) => Result;

/** Replaces a backend's kernel; `build` receives the old one. */
export function replaceKernel<Arguments, Result = tf.TensorInfo>(
  backendName: string,
  kernelName: string,
  build: (original: Kernel<Arguments, Result>) => Kernel<Arguments, Result>,
): void {
  const original = tf.getKernel(kernelName, backendName).kernelFunc as unknown;
  tf.unregisterKernel(kernelName, backendName);
  const kernelFunc = build(original as Kernel<Arguments, Result>) as unknown as tf.KernelFunc;
  tf.registerKernel({ kernelName, backendName, kernelFunc });
}

/** Gathers rows of x (R, C) at `indices` (N), which may repeat: (N, C). */
export function gatherRows(x: tf.Tensor2D, indices: tf.Tensor1D): tf.Tensor2D {
  const shape = x.shape;
  return withGradient(
    [x],
    (save) => {
      save([indices]);
      return tf.gather(x, indices);
    },
    // scatterND sums over repeated indices; wasm lacks the kernel of tfjs's own gradient.
    (dy, [saved]) => [tf.scatterND(tf.expandDims(saved, 1), dy, shape)],
  );
}

/** A low-rank update of a weight: A (I, R), B (R, O). */
export interface LowRank {
  a: tf.Tensor2D;
  b: tf.Tensor2D;
}

/** x (N, I) times a weight (I, O), or (O, I) if stored transposed, plus x A B: (N, O). */
export function linear(x: tf.Tensor2D, weight: tf.Tensor2D, update?: LowRank): tf.Tensor2D {
  const y = tf.matMul<tf.Tensor2D>(x, weight, false, weight.shape[0] !== x.shape[1]);
  return update ? tf.add(y, tf.matMul(tf.matMul(x, update.a), update.b)) : y;
}

/**
 * {@link linear} with a frozen weight: has gradients for x, A and B only. They do not
 * depend on the output, so `value` may return one computed earlier.
 */
export function frozenLinear(
  x: tf.Tensor2D,
  weight: tf.Tensor2D,
  update: LowRank | undefined,
  value: () => tf.Tensor2D,
): tf.Tensor2D {
  const isTransposed = weight.shape[0] !== x.shape[1];
  const adapted = update ? [update.a, update.b] : [];
  return withGradient(
    [x, ...adapted],
    (save) => {
      save([weight, x, ...adapted]);
      return value();
    },
    (dy, saved) => {
      const [frozen, input, a, b] = saved as (tf.Tensor2D | undefined)[];
      const dx = tf.matMul<tf.Tensor2D>(dy, frozen!, false, !isTransposed);
      if (!a) return [dx];
      const dInner = tf.matMul<tf.Tensor2D>(dy, b!, false, true);
      return [
        tf.add(dx, tf.matMul(dInner, a, false, true)),
        tf.matMul(input!, dInner, true),
        tf.matMul(tf.matMul<tf.Tensor2D>(input!, a), dy, true),
      ];
    },
  );
}

/** RMSNorm: x (N, C) / sqrt(mean(x^2) + epsilon) * gain (C) -> (N, C). */
export function rmsNorm(x: tf.Tensor2D, gain: tf.Tensor1D, epsilon: number): tf.Tensor2D {
  const normalise = (x: tf.Tensor): [tf.Tensor2D, tf.Tensor2D] => {
    const inverse = tf.rsqrt(tf.add(tf.mean(tf.square(x), 1, true), epsilon));
    return [tf.mul(x, inverse), inverse as tf.Tensor2D];
  };
  const isFused = hasKernel('RmsNorm');
  return withGradient(
    [x, gain],
    (save) => {
      if (isFused) {
        save([gain, x]);
        return runKernel<tf.Tensor2D>('RmsNorm', { x, gain }, { epsilon });
      }
      const [normed, inverse] = normalise(x);
      save([gain, normed, inverse]);
      return tf.mul(normed, gain);
    },
    (dy, [g, ...saved]) => {
      const [normed, inverse] = isFused ? normalise(saved[0]) : saved;
      const dNormed = tf.mul(dy, g);
      const projection = tf.mean(tf.mul(dNormed, normed), 1, true);
      const dx = tf.mul(inverse, tf.sub(dNormed, tf.mul(normed, projection)));
      return [dx, tf.sum(tf.mul(dy, normed), 0)];
    },
  );
}

/** SwiGLU of a fused projection (N, 2F): silu(left half) * right half -> (N, F). */
export function swiglu(gateUp: tf.Tensor2D): tf.Tensor2D {
  return withGradient(
    [gateUp],
    (save) => {
      save([gateUp]);
      if (hasKernel('SwiGlu')) return runKernel<tf.Tensor2D>('SwiGlu', { gateUp }, {});
      const [gate, up] = tf.split(gateUp, 2, 1);
      return tf.mul<tf.Tensor2D>(tf.mul(gate, tf.sigmoid(gate)), up);
    },
    (dy, [saved]) => {
      const [gate, up] = tf.split(saved, 2, 1);
      const s = tf.sigmoid(gate);
      const silu = tf.mul(gate, s);
      const dGate = tf.mul(tf.mul(dy, up), tf.add(s, tf.mul(silu, tf.sub(1, s))));
      return [tf.concat([dGate, tf.mul(dy, silu)], 1)];
    },
  );
}

/**
 * Softmax of logits (M, V), and log-probs (nats) of the chosen tokens (M). The largest
 * probability is 1 / the sum of exponentials, whose log needs no other pass.
 */
function softmaxAndChosen(logits: tf.Tensor2D, chosen: tf.Tensor1D): [tf.Tensor2D, tf.Tensor1D] {
  const [numRows, vocabSize] = logits.shape;
  const probabilities = tf.softmax(logits);
  const starts = tf.tensor1d(range(0, numRows * vocabSize, vocabSize), 'int32');
  const picked = tf.gather(tf.reshape(logits, [-1]), tf.add<tf.Tensor1D>(starts, chosen));
  const shifted = tf.sub(picked, tf.max(logits, 1));
  return [probabilities, tf.add<tf.Tensor1D>(shifted, tf.log(tf.max(probabilities, 1)))];
}

/** Gradient of the chosen tokens' log-probs with respect to logits (M, V). */
const chosenBackward = (probabilities: tf.Tensor, chosen: tf.Tensor): tf.Tensor2D =>
  tf.sub(tf.oneHot(chosen as tf.Tensor1D, probabilities.shape[1]!), probabilities);

/** Log-probs (nats) of the chosen tokens (M) from logits (M, V): (M). */
export const chosenLogProbs = (logits: tf.Tensor2D, chosen: tf.Tensor1D): tf.Tensor1D =>
  withGradient<tf.Tensor1D>(
    [logits],
    (save) => {
      const [probabilities, logProbs] = softmaxAndChosen(logits, chosen);
      save([probabilities, chosen]);
      return logProbs;
    },
    (dy, [probabilities, ids]) => [
      tf.mul(chosenBackward(probabilities, ids), tf.expandDims(dy, 1)),
    ],
  );

/** Number of logits in memory at a time (25 MB): 128 rows with a vocabulary of 49,152. */
export const LOGITS_AT_ONCE = 128 * 49_152;

/** A frozen output layer, applied to m rows at a time. */
interface FrozenHead {
  /** (m, C) -> (m, V) */
  logits: (hidden: tf.Tensor2D) => tf.Tensor2D;
  /** Maps the gradient of logits (m, V) to that of hidden states (m, C). */
  backward: (dLogits: tf.Tensor2D) => tf.Tensor2D;
  /** m */
  rowsAtOnce: number;
  /** Whether the gradient will be needed; it is then computed in the forward pass. */
  computesGradient?: boolean;
}

/**
 * Log-probs (nats) of the chosen tokens (M) from hidden states (M, C): (M). Computes the
 * logits of some rows at a time, so that all of them are never in memory.
 */
export function chosenLogProbsInParts(
  hidden: tf.Tensor2D,
  chosen: tf.Tensor1D,
  { logits, backward, rowsAtOnce, computesGradient = false }: FrozenHead,
): tf.Tensor1D {
  const [numRows, width] = hidden.shape;
  const parts = <T extends tf.TensorContainer>(
    compute: (logits: tf.Tensor2D, chosen: tf.Tensor1D) => T,
  ): T[] =>
    range(0, numRows, rowsAtOnce).map((start) =>
      tf.tidy(() => {
        const count = Math.min(rowsAtOnce, numRows - start);
        const states = tf.slice(hidden, [start, 0], [count, width]);
        return compute(logits(states), tf.slice(chosen, start, count));
      }),
    );
  if (!computesGradient) return tf.concat(parts(chosenLogProbs));
  return withGradient<tf.Tensor1D>(
    [hidden],
    (save) => {
      const computed = parts((x, ids): [tf.Tensor1D, tf.Tensor2D] => {
        const [probabilities, logProbs] = softmaxAndChosen(x, ids);
        return [logProbs, backward(chosenBackward(probabilities, ids))];
      });
      save([tf.concat(computed.map(([, gradient]) => gradient))]);
      return tf.concat(computed.map(([logProbs]) => logProbs));
    },
    (dy, [gradient]) => [tf.mul(gradient, tf.expandDims(dy, 1))],
  );
}

/**
 * Rotary embedding in Hugging Face's "rotate half" convention: (N, D) -> (N, D).
 * @param x one row for each token and head
 * @param cos (N, D), both halves equal; `sin` likewise
 * @param rotation (D, D) constant with x . rotation = concat(-x[D/2:], x[:D/2])
 */
export function rotary(
  x: tf.Tensor2D,
  cos: tf.Tensor2D,
  sin: tf.Tensor2D,
  rotation: tf.Tensor2D,
): tf.Tensor2D {
  return withGradient(
    [x],
    (save) => {
      save([cos, sin, rotation]);
      if (hasKernel('Rotary'))
        return runKernel<tf.Tensor2D>('Rotary', { x, cosine: cos, sine: sin }, { direction: 1 });
      return tf.add<tf.Tensor2D>(tf.mul(x, cos), tf.mul(tf.matMul(x, rotation), sin));
    },
    // The rotation is skew-symmetric: its transpose is its negative.
    (dy, [c, s, r]) => [
      hasKernel('Rotary')
        ? runKernel<tf.Tensor2D>('Rotary', { x: dy, cosine: c, sine: s }, { direction: -1 })
        : tf.sub(tf.mul(dy, c), tf.matMul(tf.mul<tf.Tensor2D>(dy, s), r as tf.Tensor2D)),
    ],
  );
}

/**
 * Attention of one query token per row over cached keys and values -> (B*K, G, D); null
 * if the backend has no kernel for it. Not differentiable.
 * @param q (B*K, G, D), not scaled
 * @param cached keys and values (B*K, L, D), bias (B, L)
 */
export function attendCached(
  q: tf.Tensor3D,
  { k, v, bias }: { k: tf.Tensor3D; v: tf.Tensor3D; bias: tf.Tensor2D },
  options: { kvHeads: number; scale: number },
): tf.Tensor3D | null {
  if (!hasKernel('AttendCached') || q.shape[2] % 4 !== 0) return null;
  return runKernel<tf.Tensor3D>('AttendCached', { q, k, v, bias }, options);
}

/**
 * Writes x (R, 1, D) into a block (R, L, D) in place, each row at its entry in `columns`
 * (R, int32). The result shares the block's memory. Only on backends that can capture
 * graphs.
 */
export const writeColumns = (
  block: tf.Tensor3D,
  x: tf.Tensor3D,
  columns: tf.Tensor1D,
): tf.Tensor3D => runKernel<tf.Tensor3D>('WriteColumns', { x, columns, block }, {});

/**
 * Attention of scaled queries (B, Q, D) over keys and values (B, L, D), with a bias (Q,
 * L) on the scores: (B, Q, D). The bias gets no gradient. The sum of dP * P over a row is
 * computed as that of dy * y, which has fewer columns (FlashAttention, arXiv 2205.14135).
 */
export const attend = (
  q: tf.Tensor3D,
  k: tf.Tensor3D,
  v: tf.Tensor3D,
  bias: tf.Tensor2D,
): tf.Tensor3D =>
  withGradient<tf.Tensor3D>(
    [q, k, v],
    (save) => {
      const p = tf.softmax(tf.add<tf.Tensor3D>(tf.matMul(q, k, false, true), bias)); // (B, Q, L)
      const y = tf.matMul<tf.Tensor3D>(p, v);
      save([q, k, v, p, y]);
      return y;
    },
    (dy, saved) => {
      const [q, k, v, p, y] = saved as tf.Tensor3D[];
      const dP = tf.matMul(dy, v, false, true);
      const dScores = tf.mul<tf.Tensor3D>(p, tf.sub(dP, tf.sum(tf.mul(dy, y), 2, true)));
      return [tf.matMul(dScores, k), tf.matMul(dScores, q, true), tf.matMul(p, dy, true)];
    },
  );

/** Groups indices of similar length into batches of at most `maxTokens` padded tokens. */
export function groupByLength(lengths: readonly number[], maxTokens: number): number[][] {
  const order = range(lengths.length).sort((a, b) => lengths[a] - lengths[b] || a - b);
  const groups: number[][] = [];
  for (const i of order) {
    const group = groups.at(-1);
    // Lengths ascend, so the new member is the longest.
    if (group && (group.length + 1) * lengths[i] <= maxTokens) group.push(i);
    else groups.push([i]);
  }
  return groups;
}
