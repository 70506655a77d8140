import { describe, expect, it } from 'vitest';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { useBackend, type BackendName } from '../../lib/tensor/backend.js';
import { createGrpoTrainer } from '../../lib/training/grpo.js';
import { HAS_WEBGPU } from '../tensor/has-backend.js';
import { chattyModel, PASSAGES, QUESTIONS, tinyTraining } from './tiny.js';

async function twoSteps(backend: BackendName) {
  await useBackend(backend);
  const config = tinyTraining({ settings: { groupSize: 4, miniBatches: 1, learningRate: 0.02 } });
  const task = { config, questions: QUESTIONS, retriever: createBm25Retriever(PASSAGES) };
  const trainer = createGrpoTrainer({ ...task, model: chattyModel() });
  const steps = [await trainer.next(), await trainer.next()];
  trainer.dispose();
  return steps;
}

describe.skipIf(!HAS_WEBGPU)('GRPO on the webgpu backend (needs a GPU)', () => {
  it('writes the same rollouts as wasm before and after an update, with metrics within 1e-4', async () => {
    const expected = await twoSteps('wasm');
    const steps = await twoSteps('webgpu');
    expect(expected[0].metrics.grad_norm).toBeGreaterThan(0);
    steps.forEach(({ metrics, trajectories }, i) => {
      const texts = (some: typeof trajectories) =>
        some.map(({ segments }) => segments.map(({ text }) => text));
      expect(texts(trajectories)).toEqual(texts(expected[i].trajectories));
      for (const name of ['reward', 'loss', 'kl', 'grad_norm', 'entropy'])
        expect(Math.abs(metrics[name] - expected[i].metrics[name]), name).toBeLessThan(1e-4);
    });
  }, 600_000);
});
