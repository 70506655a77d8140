import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadEncoder } from '../../../lib/retrieval/encoder.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { trainEncoderFiles } from '../../../tools/encoder/retrain-encoder.js';
import { temporaryFolder } from '../../folder.js';
import { FILMS } from '../../retrieval/passages.js';

const SMALL = { dimensions: 32, wordBuckets: 512, gramBuckets: 128 };

await useBackend('wasm');

describe('trainEncoderFiles', () => {
  const questions = FILMS.map(({ id, contents }, i) => {
    const query = contents.split('\n')[0];
    return {
      question: `What is ${query}?`,
      split: i < 3 ? 'train' : 'dev',
      metadata: { graph: [{ query, evidence: [id] }] },
    };
  });

  const outputFolder = temporaryFolder();
  it('writes an encoder and its recall on the dev split', async () => {
    const report = await trainEncoderFiles({
      passages: FILMS,
      questions,
      outputFolder,
      encoder: SMALL,
    });
    expect(report.numPairs).toBe(3 + 3 + 5);
    expect(report.recall.trained.subQueries[0]).toEqual({ k: 1, recall: 1, hitRate: 1 });
    expect((await stat(join(outputFolder, 'encoder.safetensors'))).size).toBe(report.bytes);
    expect(await loadEncoder(outputFolder)).toMatchObject({ name: 'hashed', dimensions: 32 });
  });
  it('reports evidence missing from the corpus', async () => {
    const broken = [
      { question: 'a', split: 'train', metadata: { graph: [{ query: 'b', evidence: ['p9'] }] } },
    ];
    await expect(
      trainEncoderFiles({ passages: FILMS, questions: broken, outputFolder, encoder: SMALL }),
    ).rejects.toThrow(/p9/);
  });
});
