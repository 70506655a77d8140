import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { disposeWeights, type Weights } from '../../../lib/policy/model/weights.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { SMALL_MODEL } from '../../../tools/warm-up/recipes.js';
import {
  runWarmUp,
  type SupervisedStep,
  type WarmUpRun,
} from '../../../tools/warm-up/run-warm-up.js';
import { linesOf } from '../../commands/tiny-world.js';
import { temporaryFolder } from '../../folder.js';
import { smallModel, warmUpOf } from './tiny-warm-up.js';

const root = temporaryFolder();
const runOf = (name: string, checkpointEvery?: number): WarmUpRun =>
  warmUpOf(join(root, name), checkpointEvery);

const stepsOf = (name: string): Omit<SupervisedStep, 'seconds'>[] =>
  linesOf<SupervisedStep>(join(root, name, 'metrics.jsonl')).map(({ seconds, ...rest }) => {
    expect(seconds).toBeGreaterThan(0);
    return rest;
  });

function expectSameWeights(a: Weights, b: Weights): void {
  expect(Object.keys(a)).toEqual(Object.keys(b));
  for (const key of Object.keys(a)) expect(a[key].dataSync(), key).toEqual(b[key].dataSync());
}

describe('runWarmUp', () => {
  let whole: Weights;
  beforeAll(async () => {
    await useBackend('wasm');
    whole = await runWarmUp(smallModel(), runOf('whole'), {});
  });

  it('raises and lowers the learning rate in each stage, with one line per step', () => {
    const steps = stepsOf('whole');
    expect(steps.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4, 5]);
    const rates = steps.map(({ learningRate }) => learningRate);
    [0.005, 0.01, 0.01, 0.004, 0.003, 0.002].forEach((rate, i) =>
      expect(rates[i]).toBeCloseTo(rate, 9),
    );
  });

  it('gives the same metrics and weights when stopped and resumed', async () => {
    const controller = new AbortController();
    const stopped = runWarmUp(smallModel(), runOf('resumed'), {
      signal: controller.signal,
      onStep: ({ step }) => {
        if (step === 1) controller.abort(new Error('stopped by the test'));
      },
    });
    await expect(stopped).rejects.toThrow('stopped by the test');
    expect(stepsOf('resumed')).toHaveLength(2);
    const model = smallModel();
    expectSameWeights(await runWarmUp(model, runOf('resumed'), {}), whole);
    expect(stepsOf('resumed')).toEqual(stepsOf('whole'));
    for (const tensor of Object.values(model.weights)) expect(tensor.isDisposed).toBe(true);
  });

  it('keeps one line per step when killed between checkpoints', async () => {
    const killed = runWarmUp(smallModel(), runOf('killed', 2), {
      onStep: ({ step }) => {
        if (step === 2) throw new Error('killed');
      },
    });
    await expect(killed).rejects.toThrow('killed');
    expect(stepsOf('killed')).toHaveLength(3);
    expectSameWeights(await runWarmUp(smallModel(), runOf('killed', 2), {}), whole);
    expect(stepsOf('killed')).toEqual(stepsOf('whole'));
  });

  it('lowers the loss and leaks no tensors', async () => {
    const model = smallModel();
    const before = tf.memory().numTensors;
    const trained = await runWarmUp(model, runOf('once more'), {});
    expect(tf.memory().numTensors).toBe(before);
    disposeWeights(trained);
    const losses = stepsOf('once more').map(({ loss }) => loss);
    expect(losses[0]).toBeCloseTo(Math.log(SMALL_MODEL.vocabSize), 0);
    expect(Math.max(...losses.slice(1, 3))).toBeLessThan(losses[0]);
  });

  it('stops if the weights become infinite', async () => {
    const run = runOf('infinite');
    run.stages[0].learningRate = 1e38;
    await expect(runWarmUp(smallModel(), run, {})).rejects.toThrow('Lower the learning rate.');
  });
});
