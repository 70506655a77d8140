import { describe, expect, it } from 'vitest';
import { trainingMemory } from '../../../lib/commands/common/training-estimates.js';
import { isLarge, parseModelConfig } from '../../../lib/policy/model/families.js';
import { withSettings } from '../../../lib/training/config.js';
import { trainingPreset } from '../../../lib/training/presets.js';
import { CONFIG } from '../../training/tiny.js';

const SMOLLM2 = parseModelConfig({
  model_type: 'llama',
  vocab_size: 49152,
  hidden_size: 576,
  intermediate_size: 1536,
  num_hidden_layers: 30,
  num_attention_heads: 9,
  num_key_value_heads: 3,
  max_position_embeddings: 8192,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
});

/**
 * A step of rollouts with a maximum number of tokens, trained in passes of a maximum
 * number.
 */
const config = (maxPositionEmbeddings: number, maxTokensPerPass: number, groupSize = 2) => {
  const settings = { steps: 1, questionsPerStep: 1, groupSize, maxTokensPerPass };
  const preset = trainingPreset('parallelsearch', 'smollm2', 1);
  return [{ ...SMOLLM2, maxPositionEmbeddings }, withSettings(preset, settings)] as const;
};

describe('trainingMemory', () => {
  // Peaks of resident memory on the native backend, two cores.
  it.each([
    [556, 1.9],
    [4 * 556, 2.9],
  ])(
    'is within a fifth of the measured memory of a pass of %d tokens in rows of 556',
    (tokens, gigabytes) => {
      expect(trainingMemory(...config(556, tokens)) / 1e9 / gigabytes).toBeGreaterThan(0.8);
      expect(trainingMemory(...config(556, tokens)) / 1e9 / gigabytes).toBeLessThan(1.2);
    },
  );

  it('grows with the rollouts if their cache is larger than a pass', () => {
    const [few, many] = [config(2048, 2048, 8), config(2048, 2048, 64)].map((task) =>
      trainingMemory(...task),
    );
    expect(many - few).toBeGreaterThan(5e9);
  });

  it('only matters for large models', () => {
    expect([SMOLLM2, CONFIG].map(isLarge)).toEqual([true, false]);
  });
});
