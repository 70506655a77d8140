import { describe, expect, it } from 'vitest';
import { evaluatedQuestions } from '../../../lib/data/question.js';
import type { WorkContext } from '../../../lib/experiments/experiment.js';
import {
  answerComputation,
  evaluationBatchSize,
  type Answers,
} from '../../../lib/experiments/running/answers.js';
import { loadWorld } from '../../../lib/retrieval/small-world.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import type { PolicyRun } from '../../../lib/experiments/running/policy-runs.js';

const RUN: PolicyRun = { method: 'r1', model: 'instruct', initSeed: 1, seed: 1 };
const computation = answerComputation(() => [RUN]);

await useBackend('wasm');
const whole = await loadWorld();
const asked = evaluatedQuestions(whole.questions);
// Three batches.
const world = { ...whole, questions: asked.slice(0, 2 * evaluationBatchSize('wasm') + 5) };

/** Answers all questions and appends batches to `kept`. */
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

describe('answering questions', () => {
  it('resumes from saved batches after a crash, with the same result', async () => {
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

  it('replaces recorded answers with new ones, and counts the equal ones', async () => {
    const whole = (await answer([]))!;
    const [first, second] = whole.measurements;
    const other = { ...second, answer: 'another' };
    const { value, note } = computation.merge!(whole, [[first], [other]]);
    expect((value as Answers).measurements[1]).toEqual(other);
    expect(note).toMatch(new RegExp(`^2 of ${whole.measurements.length} .*, 1 `));
  });
});
