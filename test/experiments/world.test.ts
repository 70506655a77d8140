import { expect, it } from 'vitest';
import { evaluatedQuestions, evaluatedSplit } from '../../lib/experiments/world.js';
import { questionOf } from '../data/questions.js';

it('questions of test are evaluated, or those of dev while there is no test', () => {
  const questions = ['train', 'dev', 'test', 'dev'].map((split, i) =>
    questionOf([], { id: `q${i}`, split }),
  );
  const idsOf = (some: typeof questions): string[] => evaluatedQuestions(some).map(({ id }) => id);
  expect([evaluatedSplit(questions), idsOf(questions)]).toEqual(['test', ['q2']]);
  const undrawn = questions.filter(({ split }) => split !== 'test');
  expect([evaluatedSplit(undrawn), idsOf(undrawn)]).toEqual(['dev', ['q1', 'q3']]);
});
