import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { firstSearches } from '../../lib/experiments/first-search.js';
import { createGrpoTrainer } from '../../lib/training/grpo.js';
import {
  COMPARISON,
  PASSAGES,
  QUESTIONS,
  SEQUENTIAL,
  tinyModel,
  tinyTraining,
  TOKENIZER,
} from '../training/tiny.js';

const config = tinyTraining();

await useBackend('wasm');

describe('firstSearches', () => {
  it('multiplies token probabilities of each beginning (3 decimals of the log)', async () => {
    const model = tinyModel();
    const before = tf.memory().numTensors;
    const trainer = createGrpoTrainer({
      config,
      model,
      questions: QUESTIONS,
      retriever: createBm25Retriever(PASSAGES),
    });
    const found = await firstSearches(trainer, [COMPARISON]);
    expect(found.map(({ beginning }) => beginning)).toEqual([
      'all at once',
      'one by one',
      'in other words',
    ]);
    expect(found.reduce((sum, { value }) => sum + value, 0)).toBeCloseTo(1, 9);
    const prompt = TOKENIZER.encode(
      'Answer with search, split parts with ##. Question: Who was born first, Ada Stone, Bo Reed or Cy Hill?\n',
    );
    for (const [i, text] of [
      '<think> Need born of each, all at once. </think>',
      '<think> Need born of each, one by one. </think>',
    ].entries()) {
      const written = TOKENIZER.encode(text);
      const sequence = {
        tokenIds: [...prompt, ...written],
        lossMask: [...prompt.map(() => 0), ...written.map(() => 1)],
      };
      const [logProbs] = await trainer.session.trained.referenceLogProbs([sequence]);
      expect(Math.log(found[i].value)).toBeCloseTo(
        logProbs.reduce((a, b) => a + b, 0),
        3,
      );
    }
    trainer.dispose();
    expect(tf.memory().numTensors).toBe(before);
    tf.dispose(Object.values(model.weights));
  });

  it('rejects a question with one way to begin', async () => {
    const model = tinyModel();
    const trainer = createGrpoTrainer({
      config,
      model,
      questions: QUESTIONS,
      retriever: createBm25Retriever(PASSAGES),
    });
    await expect(firstSearches(trainer, [SEQUENTIAL])).rejects.toThrow(/sequential/);
    trainer.dispose();
  });
});
