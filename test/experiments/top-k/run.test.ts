import { describe, expect, it } from 'vitest';
import type { Question, SubQuestion } from '../../../lib/data/question.js';
import { estimateTopKSeconds, TOP_K_CONFIG } from '../../../lib/experiments/top-k/run.js';
import { retrievedIn, sampleQuestions } from '../../../lib/experiments/top-k/answers.js';
import { loadWorld } from '../../../lib/experiments/world.js';
import type { SearchResult, Trajectory } from '../../../lib/rollout/trajectory.js';

const node = (id: string, evidence: string): SubQuestion => {
  return {
    ...{ id, question: id, entity: id, attribute: 'a', query: id, dependsOn: [], answers: ['x'] },
    evidence: [evidence],
  };
};
const question = (id: string, benchmark: string, split = 'test'): Question => {
  const graph = [node('q1', 'p1'), node('q2', 'p2')];
  return { id, question: id, goldenAnswers: ['x'], split, metadata: { benchmark, graph } };
};

describe('the sample', () => {
  const questions = ['a', 'b'].flatMap((benchmark) =>
    Array.from({ length: 20 }, (_, i) => question(`${benchmark}${i}`, benchmark)),
  );

  it('holds the same share of every benchmark and kind, rounded up, whatever the order', () => {
    const sample = sampleQuestions([...questions, question('t', 'a', 'train')], 15);
    const ids = sample.map(({ id }) => id);
    expect(ids.filter((id) => id.startsWith('a'))).toHaveLength(2);
    expect(ids.filter((id) => id.startsWith('b'))).toHaveLength(2);
    expect(sampleQuestions(questions, 15).map(({ id }) => id)).toEqual(ids);
    expect(sampleQuestions(questions, 1)).toHaveLength(40);
  });

  it('of the test questions takes less than half an hour on two cores', async () => {
    const { questions: all } = await loadWorld();
    const sample = sampleQuestions(all, TOP_K_CONFIG.oneOf);
    expect(new Set(sample.map(({ id }) => id)).size).toBe(sample.length);
    expect(new Set(sample.map(({ metadata }) => metadata.benchmark)).size).toBe(7);
    expect(estimateTopKSeconds(TOP_K_CONFIG, sample.length)).toBeLessThan(30 * 60);
  });
});

describe('retrievedIn', () => {
  const found = (ids: string[], numLeftOut?: number): SearchResult => ({
    status: 'ok',
    passages: ids.map((id) => ({ id, title: id, score: 1 })),
    ...(numLeftOut ? { numLeftOut } : {}),
  });
  const trajectory = (results: SearchResult[][], finish: Trajectory['finish'] = 'answer'): Trajectory => {
    const searchTurns = results.map((turn) => ({ queries: turn.map(() => 'q'), results: turn }));
    const asked = { questionId: 'x', question: 'x', goldenAnswers: ['x'], segments: [] };
    return { ...asked, searchTurns, modelCalls: results.length, finish };
  };

  it('counts sub-queries, passages found and seen, and sub-questions whose evidence was seen', () => {
    const turns = [
      [found(['p1', 'p3'], 8), found(['p4'], 9)],
      [{ status: 'failed', reason: 'late' } as const],
    ];
    expect(retrievedIn(question('x', 'a'), trajectory(turns))).toEqual({
      ...{ subQueries: 3, passagesFound: 20, passagesShown: 3, evidenceShown: 0.5, isContextFull: false },
    });
  });

  it('tells when the context was full, and knows questions without a search', () => {
    expect(retrievedIn(question('x', 'a'), trajectory([], 'length'))).toEqual({
      ...{ subQueries: 0, passagesFound: 0, passagesShown: 0, evidenceShown: 0, isContextFull: true },
    });
  });
});
