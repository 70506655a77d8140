import { describe, expect, it } from 'vitest';

type Row = Record<'warmUp' | 'seed' | 'em', number> &
  Record<'method' | 'questionId' | 'benchmark', string>;
type Parts = 'effect' | 'numQuestions' | 'questions' | 'left' | 'runs' | 'warmUps';
type Components = Record<Parts, number>;
interface Power {
  rowsOf: (answers: object, model: string, chosen: (question: object) => boolean) => Row[];
  varianceComponents: (rows: Row[]) => Components;
  standardError: (parts: Components, share: number, numWarmUps: number, numSeeds: number) => number;
}
const { rowsOf, varianceComponents, standardError } = (await import(
  new URL('../../scripts/power.mjs', import.meta.url).href
)) as Power;

/**
 * Two warm-ups with two seeds each, given the lead of the first method in each run on all
 * of four questions.
 */
const ahead = (differences: Record<string, number>): Row[] =>
  Object.entries(differences).flatMap(([run, difference]) =>
    ['ours', 'theirs'].flatMap((method) =>
      ['a', 'b', 'c', 'd'].map((questionId) => ({
        method,
        warmUp: Number(run[0]),
        seed: Number(run[1]),
        questionId,
        benchmark: 'x',
        em: method === 'ours' ? difference : 0,
      })),
    ),
  );

describe('the variance of a difference', () => {
  it('comes from the warm-ups alone if their runs agree', () => {
    const components = varianceComponents(ahead({ '11': 0.1, '12': 0.1, '21': 0.3, '22': 0.3 }));
    expect(components.effect).toBeCloseTo(0.2, 12);
    // Sample variance of .1 and .3.
    expect(components.warmUps).toBeCloseTo(0.02, 12);
    expect(components.runs).toBeCloseTo(0, 12);
    expect(components.numQuestions).toBe(4);
  });

  it('decreases with warm-ups, seeds and questions by its components', () => {
    const parts = { effect: 0, numQuestions: 4, questions: 0.04, left: 0.08 };
    // .06 / 3 + (.02 + .08 / 2) / 6 + .04 / 2
    expect(standardError({ ...parts, runs: 0.02, warmUps: 0.06 }, 2, 3, 2)).toBeCloseTo(
      Math.sqrt(0.02 + 0.01 + 0.02),
      12,
    );
  });

  it('is computed from one digit per question', () => {
    const questions = [
      { questionId: 'a', benchmark: 'x' },
      { questionId: 'b', benchmark: 'y' },
    ];
    const run = { method: 'ours', warmUp: 1, seed: 2 };
    const runs = ['base', 'instruct'].map((model) => ({ ...run, model, em: '01' }));
    const isY = ({ benchmark }: { benchmark?: string }): boolean => benchmark === 'y';
    const rows = rowsOf({ questions, runs }, 'base', isY);
    expect(rows).toMatchObject([{ ...run, questionId: 'b', em: 1 }]);
  });
});
