import { createRandom } from '../../random.js';
import {
  createHashedEncoder,
  projectFeatures,
  type HashedEncoder,
  type HashedWeights,
} from '../../retrieval/encoder.js';
import { hashFeatures, type Features, type TextKind } from '../../retrieval/features.js';
import { requireInteger } from '../../retrieval/top-k.js';

/** A query and a passage that answers it. */
export interface TrainingPair {
  query: string;
  /** Contents of the passage. */
  positive: string;
  /** Contents of other passages that answer it too; never used as negatives. */
  otherPositives?: readonly string[];
  /** Contents of passages that don't answer it, e.g. from BM25. */
  negatives?: readonly string[];
}

export interface TrainingOptions {
  /** Passes over the pairs; default 3. */
  epochs?: number;
  /** Pairs in a batch; every other pair's passages are negatives. Default 64. */
  batchSize?: number;
  /** AdaGrad's step size; default 0.03. */
  learningRate?: number;
  /** Cosines are divided by it before the softmax; default 0.1. */
  temperature?: number;
  seed?: number | string;
  onEpoch?: (progress: { epoch: number; epochs: number; meanLossNats: number }) => void;
}

/** A text's place in a batch. */
interface Encoded {
  kind: TextKind;
  features: Features;
  norm: number;
  /** Unit vector. (dimensions) */
  vector: Float32Array;
  /** Gradient of the loss by `vector`. (dimensions) */
  gradient: Float32Array;
}

interface Parameter {
  values: Float32Array;
  gradients: Float32Array;
  squares: Float32Array;
}

interface Optimizer {
  projection: Parameter;
  query: Parameter;
  passage: Parameter;
  learningRate: number;
}

/**
 * Trains the embedded encoder by in-batch softmax (InfoNCE, van den Oord et al. 2018; as DPR, Karpukhin et al. 2020):
 * minimises the mean of `-log softmax(cosine / temperature)` of the positive among all passages of the batch, by AdaGrad.
 * `start` is not changed. The same seed gives the same weights.
 */
export function trainEncoder(
  start: HashedWeights,
  pairs: readonly TrainingPair[],
  options: TrainingOptions = {},
): HashedEncoder {
  const { epochs = 3, batchSize = 64, learningRate = 0.03, temperature = 0.1, seed = 0, onEpoch } = options;
  requireInteger('epochs', epochs);
  requireInteger('batchSize', batchSize, 2);
  if (pairs.length === 0) throw new RangeError('Expected at least one training pair, but got none.');
  const weights = copyWeights(start);
  const optimizer = createOptimizer(weights, learningRate);
  const features = createFeatureCache(weights);
  const random = createRandom(seed).fork('encoder-batches');
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const order = random.shuffle(pairs);
    let lossSum = 0;
    for (let at = 0; at < order.length; at += batchSize) {
      const batch = order.slice(at, at + batchSize);
      lossSum += trainBatch(batch, weights, { optimizer, features, temperature }) * batch.length;
    }
    onEpoch?.({ epoch, epochs, meanLossNats: lossSum / order.length });
  }
  return createHashedEncoder(weights);
}

type FeatureCache = (text: string, kind: TextKind) => Features;

interface BatchContext {
  optimizer: Optimizer;
  features: FeatureCache;
  temperature: number;
}

function trainBatch(
  pairs: readonly TrainingPair[],
  weights: HashedWeights,
  { optimizer, features, temperature }: BatchContext,
): number {
  const encode = (text: string, kind: TextKind) => encodeText(weights, features(text, kind), kind);
  const queries = pairs.map(({ query }) => encode(query, 'query'));
  const texts = [...new Set(pairs.flatMap(({ positive, negatives = [] }) => [positive, ...negatives]))];
  const passages = texts.map((text) => encode(text, 'passage'));
  const rows = new Map(texts.map((text, i) => [text, i]));
  let lossSum = 0;
  pairs.forEach((pair, i) => {
    const ignored = new Set(pair.otherPositives?.map((text) => rows.get(text)));
    const target = rows.get(pair.positive)!;
    ignored.delete(target);
    lossSum += softmaxLoss(queries[i], passages, { target, ignored, temperature, share: 1 / pairs.length });
  });
  const all = [...queries, ...passages];
  for (const encoded of all) addWeightGradients(weights, optimizer, encoded);
  updateRows(weights, optimizer, all);
  return lossSum / pairs.length;
}

interface LossOptions {
  target: number;
  ignored: ReadonlySet<number | undefined>;
  temperature: number;
  /** Weight of this query in the batch's mean. */
  share: number;
}

/** The loss of one query (nats); adds its gradients to the query's and the passages' vectors. */
function softmaxLoss(query: Encoded, passages: readonly Encoded[], options: LossOptions): number {
  const { target, ignored, temperature, share } = options;
  const logits = passages.map((passage, j) =>
    ignored.has(j) ? -Infinity : dot(query.vector, passage.vector) / temperature,
  );
  const top = Math.max(...logits);
  const logSum = top + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - top), 0));
  logits.forEach((logit, j) => {
    const gradient = ((Math.exp(logit - logSum) - (j === target ? 1 : 0)) * share) / temperature;
    addScaled(query.gradient, passages[j].vector, gradient);
    addScaled(passages[j].gradient, query.vector, gradient);
  });
  return logSum - logits[target];
}

function encodeText(weights: HashedWeights, features: Features, kind: TextKind): Encoded {
  const sum = projectFeatures(weights, features, kind);
  const norm = Math.sqrt(dot(sum, sum)) || 1;
  const gradient = new Float32Array(weights.dimensions);
  return { kind, features, norm, vector: sum.map((value) => value / norm), gradient };
}

/** Carries a vector's gradient through the normalisation to the projection's rows and the gains. */
function addWeightGradients(weights: HashedWeights, optimizer: Optimizer, encoded: Encoded): void {
  const { kind, features, norm, vector, gradient } = encoded;
  const { dimensions, projection } = weights;
  const gains = optimizer[kind];
  const along = dot(gradient, vector);
  const sumGradient = gradient.map((value, d) => (value - along * vector[d]) / norm);
  features.buckets.forEach((bucket, i) => {
    const row = bucket * dimensions;
    const weight = features.values[i] * gains.values[bucket];
    let byGain = 0;
    for (let d = 0; d < dimensions; d++) {
      byGain += sumGradient[d] * projection[row + d];
      optimizer.projection.gradients[row + d] += weight * sumGradient[d];
    }
    gains.gradients[bucket] += features.values[i] * byGain;
  });
}

/** One AdaGrad step on every row that the batch touched; clears the gradients. */
function updateRows(weights: HashedWeights, optimizer: Optimizer, batch: readonly Encoded[]): void {
  const { projection, learningRate } = optimizer;
  const { dimensions } = weights;
  const touched = new Set(batch.flatMap(({ features }) => Array.from(features.buckets)));
  for (const bucket of touched) {
    for (let at = bucket * dimensions; at < (bucket + 1) * dimensions; at++)
      step(projection, at, learningRate);
    step(optimizer.query, bucket, learningRate);
    step(optimizer.passage, bucket, learningRate);
  }
}

function step({ values, gradients, squares }: Parameter, at: number, learningRate: number): void {
  const gradient = gradients[at];
  if (gradient === 0) return;
  squares[at] += gradient * gradient;
  values[at] -= (learningRate * gradient) / (Math.sqrt(squares[at]) + 1e-8);
  gradients[at] = 0;
}

function createOptimizer(weights: HashedWeights, learningRate: number): Optimizer {
  const parameter = (values: Float32Array): Parameter => ({
    values,
    gradients: new Float32Array(values.length),
    squares: new Float32Array(values.length),
  });
  return {
    projection: parameter(weights.projection as Float32Array),
    query: parameter(weights.queryGain),
    passage: parameter(weights.passageGain),
    learningRate,
  };
}

function createFeatureCache({ features }: HashedWeights): FeatureCache {
  const known = { query: new Map<string, Features>(), passage: new Map<string, Features>() };
  return (text, kind) => {
    const found = known[kind].get(text) ?? hashFeatures(text, kind, features);
    known[kind].set(text, found);
    return found;
  };
}

function copyWeights(weights: HashedWeights): HashedWeights {
  return {
    ...weights,
    projection: Float32Array.from(weights.projection),
    queryGain: weights.queryGain.slice(),
    passageGain: weights.passageGain.slice(),
  };
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let d = 0; d < a.length; d++) sum += a[d] * b[d];
  return sum;
}

function addScaled(target: Float32Array, vector: Float32Array, scale: number): void {
  for (let d = 0; d < target.length; d++) target[d] += scale * vector[d];
}
