import { describe, expect, it } from 'vitest';
import { graphQuestionType } from '../../lib/data/question.js';
import { stratifiedSample } from '../../lib/experiments/answers.js';
import { BENCHMARK_TITLES, MANY } from '../../lib/evaluation/selections.js';
import { TRAJECTORY_SAMPLE } from '../../lib/experiments/trajectories.js';
import { loadWorld } from '../../lib/retrieval/small-world.js';
import { syntheticQuestion } from '../pages/viewer/synthetic.js';

describe('stratifiedSample', () => {
  const questions = Array.from({ length: 80 }, (_, i) => ({
    ...syntheticQuestion(i),
    split: 'test',
  }));
  const ids = (oneOf: number, seed: string): string[] =>
    stratifiedSample(questions, { oneOf, seed }).map(({ id }) => id);

  it('draws the same questions for a seed and others for another', () => {
    expect(ids(10, 'a')).toEqual(ids(10, 'a'));
    expect(ids(10, 'a')).not.toEqual(ids(10, 'b'));
    expect(ids(10, 'a')).toHaveLength(8);
    expect(new Set(ids(1, 'a')).size).toBe(80);
  });

  it('rounds up, and takes no training questions', () => {
    expect(ids(1000, 'a')).toHaveLength(4);
    expect(
      stratifiedSample([{ ...questions[0], split: 'train' }], { oneOf: 1, seed: 'a' }),
    ).toEqual([]);
  });

  it('of the experiment holds every benchmark, shape and number of entities', async () => {
    const sample = stratifiedSample((await loadWorld()).questions, TRAJECTORY_SAMPLE);
    const kinds = new Set(sample.map(({ metadata }) => graphQuestionType(metadata.graph ?? [])));
    expect([...kinds].sort()).toEqual(['hybrid', 'parallelizable', 'sequential', 'single_hop']);
    expect(new Set(sample.map(({ metadata }) => metadata.benchmark))).toEqual(
      new Set([...Object.keys(BENCHMARK_TITLES), MANY]),
    );
    expect(sample.some(({ metadata }) => metadata.type === 'bridge')).toBe(true);
    const sizes = sample.map(({ metadata }) => metadata.graph?.length);
    for (const size of [2, 3, 4, 5, 6, 7, 8]) expect(sizes).toContain(size);
  });
});
