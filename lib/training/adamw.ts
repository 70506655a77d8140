import * as tf from '@tensorflow/tfjs-core';
import {
  disposeWeights,
  fromNamedArrays,
  toNamedArrays,
  type Weights,
} from '../policy/model/weights.js';
import type { NamedArray } from '../tensor/safetensors.js';

const DEFAULTS = {
  beta1: 0.9,
  beta2: 0.98,
  epsilon: 1e-8,
  /** Decoupled weight decay, applied to matrices only, never to norm gains. */
  weightDecay: 0,
};

/** AdamW (Loshchilov and Hutter 2019, Algorithm 2), as in PyTorch. */
export class AdamW {
  private readonly options: typeof DEFAULTS;
  /** `mean.KEY` and `variance.KEY`: the moments of each weight's gradient. */
  private moments: Weights = {};
  private step = 0;

  constructor(options: Partial<typeof DEFAULTS> = {}) {
    this.options = { ...DEFAULTS, ...options };
  }

  /**
   * Returns the weights after one step; disposes of the old weights and the gradients.
   * @param rate the learning rate, for all weights or per weight
   */
  apply(weights: Weights, gradients: Weights, rate: number | ((key: string) => number)): Weights {
    const { beta1, beta2, epsilon, weightDecay } = this.options;
    this.step++;
    const correction1 = 1 - beta1 ** this.step;
    const correction2 = Math.sqrt(1 - beta2 ** this.step);
    const next: Weights = {};
    for (const [key, weight] of Object.entries(weights)) {
      const gradient = gradients[key];
      const learningRate = typeof rate === 'number' ? rate : rate(key);
      const { [`mean.${key}`]: oldMean, [`variance.${key}`]: oldVariance } = this.moments;
      const [mean, variance, updated] = tf.tidy((): tf.Tensor[] => {
        const m = ema(oldMean, gradient, beta1);
        const v = ema(oldVariance, tf.square(gradient), beta2);
        const denominator = tf.add(tf.div(tf.sqrt(v), correction2), epsilon);
        const decay = weight.rank > 1 ? 1 - learningRate * weightDecay : 1;
        const kept = decay === 1 ? weight : tf.mul(weight, decay);
        return [m, v, tf.sub(kept, tf.mul(tf.div(m, denominator), learningRate / correction1))];
      });
      tf.dispose([weight, gradient, oldMean, oldVariance]);
      Object.assign(this.moments, { [`mean.${key}`]: mean, [`variance.${key}`]: variance });
      next[key] = updated;
    }
    return next;
  }

  /** Returns the optimizer state as named arrays, for a checkpoint. */
  async toArrays(): Promise<Map<string, NamedArray>> {
    const arrays = await toNamedArrays(this.moments);
    return arrays.set('step', { shape: [1], values: Float32Array.of(this.step) });
  }

  /** Restores the state returned by {@link toArrays}. */
  restore(arrays: ReadonlyMap<string, NamedArray>): void {
    this.dispose();
    this.step = arrays.get('step')!.values[0];
    this.moments = fromNamedArrays([...arrays].filter(([name]) => name !== 'step'));
  }

  dispose(): void {
    disposeWeights(this.moments);
    this.moments = {};
  }
}

/** Exponential moving average: beta * old + (1 - beta) * value, starting from zero. */
function ema(old: tf.Tensor | undefined, value: tf.Tensor, beta: number): tf.Tensor {
  const fresh = tf.mul(value, 1 - beta);
  return old ? tf.add(tf.mul(old, beta), fresh) : fresh;
}

/** Learning rate at a step: linear warm-up, then linear decay to `final`. */
export function scheduledRate(
  step: number,
  schedule: { peak: number; final: number; warmupSteps: number; totalSteps: number },
): number {
  const { peak, final, warmupSteps, totalSteps } = schedule;
  if (step < warmupSteps) return (peak * (step + 1)) / warmupSteps;
  const done = Math.min(1, (step - warmupSteps) / Math.max(1, totalSteps - warmupSteps));
  return peak + (final - peak) * done;
}
