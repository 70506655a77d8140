import { beforeAll, describe, expect, it } from 'vitest';
import {
  answerComputation,
  evaluationBatchSize,
  type Answers,
} from '../../lib/experiments/answers.js';
import type { WorkContext } from '../../lib/experiments/experiment.js';
import type { PolicyRun } from '../../lib/training/stored-policies.js';
import { loadWorld, type World } from '../../lib/retrieval/small-world.js';
import { evaluatedQuestions } from '../../lib/data/question.js';
import { useBackend } from '../../lib/tensor/backend.js';

const RUN: PolicyRun = { method: 'r1', model: 'instruct', initSeed: 1, seed: 1 };
const computation = answerComputation(() => [RUN]);
let world: World;

beforeAll(async () => {
  await useBackend('wasm');
  const whole = await loadWorld();
  const asked = evaluatedQuestions(whole.questions);
  // Three batches.
  world = { ...whole, questions: asked.slice(0, 2 * evaluationBatchSize('wasm') + 5) };
});

/** Answers all questions and adds batches to `kept`. */
const answer = (kept: unknown[], more: Partial<WorkContext> = {}): Promise<Answers | undefined> =>
  computation.work(RUN, {
    backend: 'wasm',
    world,
    kept: [...kept],
    until: Infinity,
    onFraction: () => undefined,
    keep: async (item) => void kept.push(item),
    ...more,
  }) as Promise<Answers | undefined>;

describe('answering the questions', () => {
  it('resumes after a crash from kept batches, with the same result', async () => {
    const kept: unknown[] = [];
    const die = (): never => {
      throw new Error('killed');
    };
    await expect(answer(kept, { onFraction: die })).rejects.toThrow('killed');
    expect(kept).toHaveLength(1);
    const fractions: number[] = [];
    const resumed = await answer(kept, { onFraction: (fraction) => fractions.push(fraction) });
    expect(kept).toHaveLength(3);
    expect(fractions).toHaveLength(2);
    expect(fractions.at(-1)).toBe(1);
    expect(resumed).toEqual(await answer([]));
    expect(resumed!.measurements.map(({ questionId }) => questionId)).toEqual(
      world.questions.map(({ id }) => id),
    );
  });

  it('stops when time runs out', async () => {
    const kept: unknown[] = [];
    expect(await answer(kept, { until: performance.now() })).toBeUndefined();
    expect(kept).toEqual([]);
  });

  it('replaces recorded answers by new ones, and counts the equal ones', async () => {
    const whole = (await answer([]))!;
    const [first, second] = whole.measurements;
    const other = { ...second, answer: 'another' };
    const { value, note } = computation.merged!(whole, [[first], [other]]) as {
      value: Answers;
      note: string;
    };
    expect(value.measurements[1]).toEqual(other);
    expect(note).toMatch(new RegExp(`^2 of ${whole.measurements.length} .*, 1 `));
  });
});
