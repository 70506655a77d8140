import * as tf from '@tensorflow/tfjs-core';
import { sum } from 'd3-array';
import { describe, expect, it } from 'vitest';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { firstSearches } from '../../lib/training/first-search.js';
import { createGrpoTrainer } from '../../lib/training/grpo.js';
import {
  COMPARISON,
  PASSAGES,
  QUESTIONS,
  SEQUENTIAL,
  tinyModel,
  tinyTraining,
  TOKENIZER,
} from './tiny.js';

const config = tinyTraining();
const retriever = createBm25Retriever(PASSAGES);

await useBackend('wasm');

describe('firstSearches', () => {
  it('multiplies the token probabilities of each first search (log within 3 decimals)', async () => {
    const model = tinyModel();
    const before = tf.memory().numTensors;
    const trainer = createGrpoTrainer({ config, model, questions: QUESTIONS, retriever });
    const found = await firstSearches(trainer, [COMPARISON]);
    const beginnings = found.map(({ beginning }) => beginning);
    expect(beginnings).toEqual(['all at once', 'one by one', 'in other words']);
    expect(sum(found, ({ value }) => value)).toBeCloseTo(1, 9);
    const prompt = TOKENIZER.encode(
      'Answer with search, split parts with ##. Question: Who was born first, Ada Stone, Bo Reed or Cy Hill?\n',
    );
    for (const [i, how] of ['all at once', 'one by one'].entries()) {
      const written = TOKENIZER.encode(`<think> Need born of each, ${how}. </think>`);
      const sequence = {
        tokenIds: [...prompt, ...written],
        lossMask: [...prompt.map(() => 0), ...written.map(() => 1)],
      };
      const [logProbs] = await trainer.session.trained.referenceLogProbs([sequence]);
      expect(Math.log(found[i].value)).toBeCloseTo(sum(logProbs), 3);
    }
    trainer.dispose();
    expect(tf.memory().numTensors).toBe(before);
    tf.dispose(Object.values(model.weights));
  });

  it('rejects a question with only one possible first search', async () => {
    const model = tinyModel();
    const trainer = createGrpoTrainer({ config, model, questions: QUESTIONS, retriever });
    await expect(firstSearches(trainer, [SEQUENTIAL])).rejects.toThrow(/sequential/);
    trainer.dispose();
  });
});
