/** On the native backend, no training pass falls back to single operations. */
import { describe, expect, it, vi } from 'vitest';
import { useBackend } from '../../lib/tensor/backend.js';
import type { TrainerName } from '../../lib/training/methods.js';
import { createTrainer } from '../../lib/training/trainers.js';
import { cases } from '../full.js';
import { HAS_NATIVE } from '../tensor/has-backend.js';
import { chattyModel, TASK, tinyTraining } from './tiny.js';

/** Traced operations, and those without a known shape. */
const ops = vi.hoisted(() => ({ traced: 0, unknown: [] as string[] }));
vi.mock('../../lib/tensor/op-shapes.js', async (load) => {
  const shapes = await load<typeof import('../../lib/tensor/op-shapes.js')>();
  const inferShapes: typeof shapes.inferShapes = (op, ...others) => {
    ops.traced++;
    try {
      return shapes.inferShapes(op, ...others);
    } catch (error) {
      ops.unknown.push(op);
      throw error;
    }
  };
  return { ...shapes, inferShapes };
});

const TRAININGS: [TrainerName, object][] = [
  ['ppo', {}],
  ['grpo', {}],
  ['grpo', { lossType: 'dapo', epsilonHigh: 0.28, importanceSamplingLevel: 'sequence' }],
  ['grpo', { lossType: 'dr_grpo', scaleRewards: 'none', llds: 0.1, beta: 0 }],
  ['sft', {}],
  ['rejection-sampling', {}],
];

describe.skipIf(!HAS_NATIVE)('graphs of the native backend (needs native)', () => {
  it.each(TRAININGS.slice(0, cases(2, 6)))(
    'cover every operation of %s with %j',
    async (trainer, settings) => {
      await useBackend('native');
      Object.assign(ops, { traced: 0, unknown: [] });
      const config = tinyTraining({ trainer, settings });
      const training = await createTrainer({ config, model: chattyModel(), ...TASK });
      for (let step = 0; step < 2; step++) {
        const { metrics } = await training.next();
        expect(metrics.loss).toEqual(expect.any(Number));
      }
      training.dispose();
      expect(ops.traced).toBeGreaterThan(500);
      expect(ops.unknown).toEqual([]);
    },
  );
});
