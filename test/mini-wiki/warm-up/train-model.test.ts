import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INITIAL_MODELS } from '../../../lib/experiments/runs.js';
import { CHECKPOINTS } from '../../../lib/io/paths.js';
import { loadModel, type Model } from '../../../lib/policy/model-folder.js';
import { forward, logitsOf, rotaryTable } from '../../../lib/policy/transformer.js';
import { disposeWeights } from '../../../lib/policy/weights.js';
import { useBackend } from '../../../lib/tensor/backend.js';

/** Made by `scripts/fixtures/llama.py logits` from the committed folder. */
interface Expected {
  input_ids: number[][];
  last_logits: number[][];
  first_row_logits: number[][];
  texts: string[];
  text_ids: number[][];
}

const worstDifference = (a: readonly number[], b: readonly number[]): number =>
  Math.max(...a.map((x, i) => Math.abs(x - b[i])));

describe.each(INITIAL_MODELS)('the initial model %s beside transformers (Python)', (name) => {
  const fixture = new URL(`../../fixtures/initial-model-${name}.json`, import.meta.url);
  const expected = JSON.parse(readFileSync(fixture, 'utf8')) as Expected;
  let model: Model;
  beforeAll(async () => {
    await useBackend('wasm');
    model = await loadModel(join(CHECKPOINTS, name));
  });
  afterAll(() => disposeWeights(model.weights));

  /** Logits of one row by itself, a list a token. */
  function logits(row: readonly number[]): number[][] {
    const { weights, config } = model;
    return tf.tidy(() => {
      const table = rotaryTable(config, config.maxPositionEmbeddings);
      const ids = tf.tensor2d([[...row]], [1, row.length], 'int32');
      return logitsOf(weights, forward(weights, ids, config, table), config).arraySync();
    });
  }

  it('gives the same logits within 1e-4 at every token of a short text', () => {
    const found = logits(expected.input_ids[0]);
    expected.first_row_logits.forEach((row, t) => expect(worstDifference(row, found[t])).toBeLessThan(1e-4));
  });

  it('gives the same logits within 1e-4 at the end of whole transcripts', () => {
    expected.input_ids.forEach((row, i) => {
      const found = logits(row);
      expect(worstDifference(expected.last_logits[i], found[row.length - 1])).toBeLessThan(1e-4);
    });
  });

  it('splits texts into the same tokens', () => {
    expected.texts.forEach((text, i) => expect(model.tokenizer.encode(text)).toEqual(expected.text_ids[i]));
  });

  it('comes with a model card', () => {
    expect(existsSync(join(CHECKPOINTS, name, 'README.md'))).toBe(true);
  });
});
