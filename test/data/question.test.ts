import { range } from 'd3-array';
import { describe, expect, it } from 'vitest';
import {
  createQuestionFinder,
  evaluatedQuestions,
  evaluatedSplit,
  findQuestion,
  graphDepth,
  independentSubQuestions,
  graphQuestionType,
  questionType,
  requireUniqueIds,
  sampleQuestions,
  stratifiedSample,
  type Question,
  type QuestionType,
} from '../../lib/data/question.js';
import { syntheticQuestion } from '../pages/viewer/synthetic.js';
import { graphOf, questionOf } from './questions.js';

describe('findQuestion', () => {
  const questions = ['nq-1', 'nq-2'].map((id) => questionOf([], { id }));

  it('finds a question by id', () => {
    expect(findQuestion(questions, 'nq-2')).toBe(questions[1]);
  });

  it('reports a missing id with an example', () => {
    expect(() => findQuestion(questions, 'nq-3')).toThrow(/nq-3.*nq-1/);
    expect(() => findQuestion([], 'nq-1')).toThrow('nq-1');
  });
});

describe('createQuestionFinder', () => {
  const questions = ['nq', 'popqa'].map((benchmark) => ({
    ...questionOf([], { id: 'test_0' }),
    question: `Who of ${benchmark}?`,
    goldenAnswers: [`The ${benchmark} one`],
    metadata: { benchmark },
  }));
  const find = createQuestionFinder(questions);

  it.each([
    ['the text', { id: 'test_0', question: 'Who of popqa?' }, 1],
    ['the benchmark', { id: 'test_0', benchmark: 'nq' }, 0],
    ['the text only', { id: 'other', question: 'Who of nq?' }, 0],
    ['a right answer', { id: 'test_0', goldenAnswers: ['Bo Reed', 'PopQA one'] }, 1],
    [
      'no right answer, and finds none',
      { id: 'test_0', benchmark: 'nq', goldenAnswers: ['Bo'] },
      undefined,
    ],
    ['nothing, and finds none', { id: 'test_0' }, undefined],
    ['another text, and finds none', { id: 'test_0', question: 'Who else?' }, undefined],
    ['another benchmark, and finds none', { id: 'test_0', benchmark: 'hotpotqa' }, undefined],
  ])('distinguishes questions with the same id by %s', (_, reference, index) => {
    expect(find(reference)).toBe(index === undefined ? undefined : questions[index]);
  });

  it('requireUniqueIds names repeated ids', () => {
    expect(() => requireUniqueIds(questions)).toThrow(/test_0.*Who of nq.*Who of popqa/);
    const twice = [questions[0], { ...questions[0], split: 'dev' }];
    expect(() => requireUniqueIds(twice)).toThrow(/once, but test_0 \("Who of nq\?"\).*twice/);
  });
});

describe('graphQuestionType', () => {
  it.each<[type: QuestionType, what: string, edges: Record<string, string[]>]>([
    ['single_hop', 'one sub-question', { a: [] }],
    ['parallelizable', 'two without edges', { a: [], b: [] }],
    ['parallelizable', 'five without edges', { a: [], b: [], c: [], d: [], e: [] }],
    ['sequential', 'a chain', { a: [], b: ['a'] }],
    ['sequential', 'a chain in another order', { c: ['b'], a: [], b: ['a'] }],
    ['hybrid', 'two chains side by side', { a: [], b: ['a'], c: [], d: ['c'] }],
    ['hybrid', 'a fork', { a: [], b: ['a'], c: ['a'] }],
    ['hybrid', 'a join', { a: [], b: [], c: ['a', 'b'] }],
    ['hybrid', 'a chain with a short cut', { a: [], b: ['a'], c: ['a', 'b'] }],
  ])('is %s for %s', (type, _, edges) => expect(graphQuestionType(graphOf(edges))).toBe(type));

  it('rejects an empty graph', () => {
    expect(() => graphQuestionType([])).toThrow('at least one sub-question');
  });
});

it.each<[type: QuestionType, ...benchmarkTypes: string[]]>([
  ['parallelizable', 'comparison', 'comparison_query'],
  ['sequential', 'bridge', 'compositional', 'inference', 'inference_query', '2hop'],
  ['hybrid', 'bridge_comparison'],
  ['single_hop', 'single_hop', 'na'],
])('derives %s from the types of the benchmarks', (expected, ...types) => {
  for (const type of types) expect(questionType({ metadata: { type } })).toBe(expected);
});

describe('graphDepth', () => {
  it('is the longest chain', () => {
    expect(graphDepth([])).toBe(0);
    expect(graphDepth(graphOf({ a: [], b: [] }))).toBe(1);
    expect(graphDepth(graphOf({ a: [], b: ['a'], c: [], d: ['b', 'c'] }))).toBe(3);
  });

  it('rejects cycles, edges to nowhere and repeated ids', () => {
    expect(() => graphDepth(graphOf({ a: ['b'], b: ['a'] }))).toThrow('acyclic');
    expect(() => graphDepth(graphOf({ a: ['x'] }))).toThrow(/dependsOn.*x/);
    expect(() => graphDepth([...graphOf({ a: [] }), ...graphOf({ a: [] })])).toThrow('unique');
  });
});

describe('independentSubQuestions', () => {
  it('gives the nodes without dependencies', () => {
    const roots = independentSubQuestions(graphOf({ a: [], b: ['a'], c: [] }));
    expect(roots.map(({ id }) => id)).toEqual(['a', 'c']);
  });
});

it('evaluates the test questions, or dev if there are none', () => {
  const questions = ['train', 'dev', 'test', 'dev'].map((split, i) =>
    questionOf([], { id: `q${i}`, split }),
  );
  const idsOf = (all: typeof questions): string[] => evaluatedQuestions(all).map(({ id }) => id);
  expect([evaluatedSplit(questions), idsOf(questions)]).toEqual(['test', ['q2']]);
  const undrawn = questions.filter(({ split }) => split !== 'test');
  expect([evaluatedSplit(undrawn), idsOf(undrawn)]).toEqual(['dev', ['q1', 'q3']]);
});

describe('sampleQuestions', () => {
  const make = (benchmark: string, type: string | undefined, n: number): Question[] =>
    Array.from({ length: n }, (_, i) =>
      questionOf([], { id: `${benchmark}-${type}-${i}`, metadata: { benchmark, type } }),
    );
  const questions = [
    ...make('nq', 'single_hop', 50),
    ...make('hotpotqa', 'bridge', 33),
    ...make('hotpotqa', 'comparison', 12),
    ...make('mine', undefined, 5),
  ];

  it('keeps the proportions of benchmarks and question types, by largest remainder', () => {
    // Of 10: quotas 5, 3.3, 1.2 and .5.
    const { questions: sample, strata } = sampleQuestions(questions, 10);
    expect(Object.fromEntries(strata)).toEqual({
      'nq single_hop': 5,
      'hotpotqa sequential': 3,
      'hotpotqa parallelizable': 1,
      'mine of unknown type': 1,
    });
    const prefixes = ['nq', 'hotpotqa-bridge', 'hotpotqa-comparison', 'mine'];
    const counts = prefixes.map((one) => sample.filter(({ id }) => id.startsWith(one)).length);
    expect(counts).toEqual([5, 3, 1, 1]);
  });

  it('is deterministic, keeps the order, and does not just take the first questions', () => {
    const [first, again] = [1, 2].map(() => sampleQuestions(questions, 30).questions);
    expect(again).toEqual(first);
    expect(first).toEqual(questions.filter((question) => first.includes(question)));
    expect(first.filter(({ id }) => id.startsWith('nq'))).not.toEqual(questions.slice(0, 15));
  });

  it('returns any size, up to all questions', () => {
    for (const n of [1, 2, 7, 99, 100, 1000])
      expect(sampleQuestions(questions, n).questions).toHaveLength(Math.min(n, 100));
  });
});

describe('stratifiedSample', () => {
  const questions = range(80).map((i) => ({ ...syntheticQuestion(i), split: 'test' }));
  const ids = (oneOf: number, seed: string): string[] =>
    stratifiedSample(questions, { oneOf, seed }).map(({ id }) => id);

  it('gives the same questions for the same seed, and others for another', () => {
    expect(ids(10, 'a')).toEqual(ids(10, 'a'));
    expect(ids(10, 'a')).not.toEqual(ids(10, 'b'));
    expect(ids(10, 'a')).toHaveLength(8);
    expect(new Set(ids(1, 'a')).size).toBe(80);
  });

  it('rounds up, and excludes training questions', () => {
    expect(ids(1000, 'a')).toHaveLength(4);
    const training = [{ ...questions[0], split: 'train' }];
    expect(stratifiedSample(training, { oneOf: 1, seed: 'a' })).toEqual([]);
  });
});
