import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Weights } from '../../../lib/policy/weights.js';
import { createBm25Retriever } from '../../../lib/retrieval/bm25.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { runWarmUp, type WarmUpRun } from '../../../lib/mini-wiki/warm-up/run-warm-up.js';
import type { SupervisedStep } from '../../../lib/training/supervised.js';
import type { WarmUpOptions } from '../../../lib/mini-wiki/warm-up/rows.js';
import { PASSAGES, QUESTIONS, TOKENIZER, tinyModel } from '../../training/tiny.js';

const data = {
  questions: QUESTIONS,
  passages: PASSAGES,
  retriever: createBm25Retriever(PASSAGES, { titleWeight: 5 }),
  tokenizer: TOKENIZER,
};
const optionsOf = (mix: WarmUpOptions['mix']): WarmUpOptions => ({
  mix,
  rowsPerStep: 2,
  topKs: [1],
  maxSearchTurns: 4,
  contextWeight: 0,
  recapWeight: 2,
  renamedShare: 0.5,
  unusualShare: 0,
  parallelShare: 0.5,
});

let root: string;
beforeAll(async () => {
  await useBackend('wasm');
  root = await mkdtemp(join(tmpdir(), 'warm-up-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const runOf = (name: string, checkpointEvery = 100): WarmUpRun => ({
  seed: 1,
  folder: join(root, name),
  supervised: { maxGradNorm: 1, maxTokensPerPass: 400 },
  stages: [
    {
      steps: 3,
      learningRate: 0.01,
      finalLearningRate: 0.01,
      warmupSteps: 2,
      options: optionsOf({ passages: 1 }),
    },
    {
      steps: 3,
      learningRate: 0.004,
      finalLearningRate: 0.001,
      warmupSteps: 0,
      options: optionsOf({ copy: 1 }),
    },
  ],
  checkpointEvery,
});

type Steps = Omit<SupervisedStep, 'seconds'>[];
async function stepsOf(name: string): Promise<Steps> {
  const lines = (await readFile(join(root, name, 'metrics.jsonl'), 'utf8')).trimEnd().split('\n');
  return lines.map((line) => {
    const { seconds, ...rest } = JSON.parse(line) as SupervisedStep;
    expect(seconds).toBeGreaterThan(0);
    return rest;
  });
}

function expectSameWeights(a: Weights, b: Weights): void {
  expect(Object.keys(a)).toEqual(Object.keys(b));
  for (const key of Object.keys(a)) expect(a[key].dataSync(), key).toEqual(b[key].dataSync());
}

describe('runWarmUp', () => {
  let whole: Weights;
  beforeAll(async () => {
    whole = await runWarmUp(tinyModel(), data, runOf('whole'), {});
  });

  it('writes a line a step and trains', async () => {
    const steps = await stepsOf('whole');
    expect(steps.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(steps[2].loss).toBeLessThan(steps[0].loss);
  });

  it('raises and lowers the learning rate within each stage', async () => {
    const rates = (await stepsOf('whole')).map(({ learningRate }) => learningRate);
    [0.005, 0.01, 0.01, 0.004, 0.003, 0.002].forEach((rate, i) => expect(rates[i]).toBeCloseTo(rate, 9));
  });

  it('reads what the stage of the step says', async () => {
    const steps = await stepsOf('whole');
    const lengths = (rows: Steps): number => Math.max(...rows.map(({ numTokens }) => numTokens));
    // Two passages are shorter than two prompts with their first search.
    expect(lengths(steps.slice(0, 3))).toBeLessThan(
      Math.min(...steps.slice(3).map(({ numTokens }) => numTokens)),
    );
  });

  it('stopped and resumed, gives the very same metrics and weights as without the stop', async () => {
    const controller = new AbortController();
    const stopped = runWarmUp(tinyModel(), data, runOf('resumed'), {
      signal: controller.signal,
      onStep: ({ step }) => {
        if (step === 1) controller.abort(new Error('stopped by the test'));
      },
    });
    await expect(stopped).rejects.toThrow('stopped by the test');
    expect(await stepsOf('resumed')).toHaveLength(2);
    const model = tinyModel();
    const weights = await runWarmUp(model, data, runOf('resumed'), {});
    expectSameWeights(weights, whole);
    expect(await stepsOf('resumed')).toEqual(await stepsOf('whole'));
    for (const tensor of Object.values(model.weights)) expect(tensor.isDisposed).toBe(true);
  });

  it('killed between checkpoints, keeps one line of each step', async () => {
    const killed = runWarmUp(tinyModel(), data, runOf('killed', 2), {
      onStep: ({ step }) => {
        if (step === 2) throw new Error('killed');
      },
    });
    await expect(killed).rejects.toThrow('killed');
    expect(await stepsOf('killed')).toHaveLength(3);
    expectSameWeights(await runWarmUp(tinyModel(), data, runOf('killed', 2), {}), whole);
    expect(await stepsOf('killed')).toEqual(await stepsOf('whole'));
  });
});
