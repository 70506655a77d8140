import { describe, expect, it } from 'vitest';
import {
  findQuestion,
  graphDepth,
  independentSubQuestions,
  questionShape,
  type QuestionGraph,
} from '../../lib/data/question.js';

/** A graph from `id: [ids it depends on]`. */
function graphOf(edges: Record<string, string[]>): QuestionGraph {
  return Object.entries(edges).map(([id, dependsOn]) => ({
    id,
    question: `What is ${id}?`,
    entity: id,
    attribute: 'name',
    query: id,
    dependsOn,
    answers: [id],
    evidence: [`passage-${id}`],
  }));
}

describe('findQuestion', () => {
  const questions = ['nq-1', 'nq-2'].map((id) => ({ id, question: id, goldenAnswers: ['x'], metadata: {} }));

  it('gives the question of an id', () => {
    expect(findQuestion(questions, 'nq-2')).toBe(questions[1]);
  });

  it('names an id that is not there, and one that is', () => {
    expect(() => findQuestion(questions, 'nq-3')).toThrow(
      'None of 2 questions has the id "nq-3". Ids look like "nq-1".',
    );
    expect(() => findQuestion([], 'nq-1')).toThrow('None of 0 questions has the id "nq-1".');
  });
});

describe('questionShape', () => {
  it('calls one sub-question single-hop', () => {
    expect(questionShape(graphOf({ a: [] }))).toBe('single_hop');
  });

  it('calls sub-questions without edges parallelizable', () => {
    expect(questionShape(graphOf({ a: [], b: [] }))).toBe('parallelizable');
    expect(questionShape(graphOf({ a: [], b: [], c: [], d: [], e: [] }))).toBe('parallelizable');
  });

  it('calls a pure chain sequential, in whatever order its nodes are listed', () => {
    expect(questionShape(graphOf({ a: [], b: ['a'] }))).toBe('sequential');
    expect(questionShape(graphOf({ c: ['b'], a: [], b: ['a'] }))).toBe('sequential');
  });

  it('calls two chains side by side, a fork and a join hybrid', () => {
    expect(questionShape(graphOf({ a: [], b: ['a'], c: [], d: ['c'] }))).toBe('hybrid');
    expect(questionShape(graphOf({ a: [], b: ['a'], c: ['a'] }))).toBe('hybrid');
    expect(questionShape(graphOf({ a: [], b: [], c: ['a', 'b'] }))).toBe('hybrid');
    expect(questionShape(graphOf({ a: [], b: ['a'], c: ['a', 'b'] }))).toBe('hybrid');
  });

  it('refuses an empty graph', () => {
    expect(() => questionShape([])).toThrow('at least one sub-question');
  });
});

describe('graphDepth', () => {
  it('is the longest chain', () => {
    expect(graphDepth([])).toBe(0);
    expect(graphDepth(graphOf({ a: [], b: [] }))).toBe(1);
    expect(graphDepth(graphOf({ a: [], b: ['a'], c: [], d: ['b', 'c'] }))).toBe(3);
  });

  it('refuses cycles, edges to nowhere and repeated ids', () => {
    expect(() => graphDepth(graphOf({ a: ['b'], b: ['a'] }))).toThrow('acyclic');
    expect(() => graphDepth(graphOf({ a: ['x'] }))).toThrow('name a sub-question of the graph, but got x');
    expect(() => graphDepth([...graphOf({ a: [] }), ...graphOf({ a: [] })])).toThrow('unique');
  });
});

describe('independentSubQuestions', () => {
  it('gives the roots', () => {
    const roots = independentSubQuestions(graphOf({ a: [], b: ['a'], c: [] }));
    expect(roots.map(({ id }) => id)).toEqual(['a', 'c']);
  });
});
