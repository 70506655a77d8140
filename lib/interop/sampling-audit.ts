/** Compares recorded log-probs with this library's, for the same or other weights. */
import { loadMerged } from '../policy/folders/model-folder.js';
import { rotaryTable } from '../policy/model/transformer.js';
import { disposeWeights } from '../policy/model/weights.js';
import {
  importanceSampling,
  samplingMetrics,
  type ImportanceSampling,
} from '../training/importance-sampling.js';
import { sequenceLogProbs, type Sequence } from '../training/sequences.js';
import { splitResponses } from './audit.js';
import type { TokenRow } from './token-rows.js';

const MAX_TOKENS_PER_PASS = 2048;

/** A recorded sequence, with the sampler's log-probs (nats) of its trained tokens. */
function toSampledSequence(
  pieces: TokenRow['sequences'][number],
): Sequence & { sampler: number[] } {
  const parts = splitResponses(pieces);
  return {
    tokenIds: parts.flatMap(({ ids }) => ids),
    lossMask: parts.flatMap(({ mask }) => mask),
    sampler: parts.flatMap(({ mask, logProbs }) => {
      const trained = mask.flatMap((value, i) => (value === 0 ? [] : [i]));
      if (!logProbs) return trained.map(() => NaN);
      const isPerToken = logProbs.length === mask.length;
      return trained.map((i, n) => logProbs[isPerToken ? i : n] ?? NaN);
    }),
  };
}

/**
 * Computes importance sampling metrics of recorded log-probs and a model's.
 * @param options.temperature of the sampler, by which logits are divided
 * @throws Error if no row has log-probs
 */
export async function scoreRows(
  rows: readonly TokenRow[],
  options: { model: string; adapter?: string; temperature: number } & Pick<
    ImportanceSampling,
    'importanceSamplingMode'
  >,
): Promise<Record<string, number>> {
  const { model, adapter, temperature, importanceSamplingMode } = options;
  const sequences = rows
    .flatMap((row) => row.sequences.map(toSampledSequence))
    .filter(({ sampler }) => sampler.some((logProb) => !Number.isNaN(logProb)));
  if (sequences.length === 0)
    throw new Error('Expected log-probs in a row without faults, but there are none.');
  const { weights, config } = await loadMerged(model, adapter);
  const table = rotaryTable(config, config.maxPositionEmbeddings);
  const learner = await sequenceLogProbs(weights, sequences, {
    config,
    table,
    temperature,
    maxTokensPerPass: MAX_TOKENS_PER_PASS,
    isAdapter: true,
  }).finally(() => disposeWeights(weights));
  const policies = { learner, sampler: sequences.map(({ sampler }) => sampler) };
  return samplingMetrics(policies, importanceSampling({ importanceSamplingMode }));
}
