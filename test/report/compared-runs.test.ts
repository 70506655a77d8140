import { range } from 'd3-array';
import { describe, expect, it } from 'vitest';
import { matching } from '../../lib/evaluation/figures.js';
import {
  answerFigures,
  finalFigure,
  finalFigures,
  shortNames,
} from '../../lib/report/compared-runs.js';
import { result } from '../experiments/synthetic.js';
import { comparedFolder, readAll } from './compared-folder.js';

const { inRoot, writeAnswers, writeLines } = comparedFolder();

describe('shortNames', () => {
  it('uses the shortest distinct ends of paths', () => {
    expect(shortNames(['runs/a', 'other/b/'])).toEqual(['a', 'b']);
    const files = ['runs/a/answers.jsonl', './b/answers.jsonl'];
    expect(shortNames(files)).toEqual(['a/answers', 'b/answers']);
    expect(shortNames(['a', 'a'])).toEqual(['a', 'a']);
  });
});

describe('finalFigure', () => {
  it('is the mean of the last steps with an interval', async () => {
    const [, b] = await readAll(inRoot('a'), inRoot('b'));
    const { value, low, high, numSteps } = finalFigure(b, 'reward')!;
    expect([value, numSteps]).toEqual([3, 5]);
    expect(low).toBeGreaterThanOrEqual(1);
    expect(low).toBeLessThan(3);
    expect(high).toBeLessThanOrEqual(5);
    expect(high).toBeGreaterThan(3);
    expect(finalFigure(b, 'nothing')).toBeNull();
  });
});

describe('finalFigures', () => {
  it('has the differences of the last training steps to the first run', async () => {
    const figures = finalFigures(await readAll(inRoot('a'), inRoot('b')));
    const rewards = matching(figures, { metric: 'reward' });
    // a is 0.2 in all steps and b is 1 to 5 in the last five.
    const interval = finalFigure((await readAll(inRoot('b')))[0], 'reward')!;
    expect(rewards).toEqual([
      expect.objectContaining({ run: 'a', n: 5, difference: null }),
      expect.objectContaining({ run: 'b', n: 5 }),
    ]);
    expect(rewards[1].difference!.value).toBeCloseTo(2.8, 10);
    expect(rewards[1].difference!.low).toBeCloseTo(interval.low - 0.2, 10);
    expect(rewards[1].difference!.high).toBeCloseTo(interval.high - 0.2, 10);
  });

  it('has the paired differences of answers by metric', async () => {
    const figures = finalFigures(await readAll(...writeAnswers()));
    const exact = matching(figures, { source: 'answers', metric: 'em', n: 20 });
    expect(exact.map(({ run }) => run)).toEqual(['one', 'two']);
    expect([exact[1].figure.value, exact[1].difference?.value]).toEqual([0.5, 0.5]);
  });
});

describe('answerFigures', () => {
  it('compares the questions answered by all runs, in their common metrics', async () => {
    const { rows, contrasts, numQuestions } = answerFigures(await readAll(...writeAnswers()))!;
    expect(numQuestions).toBe(20);
    expect(matching(rows, { metric: 'em' })).toMatchObject([
      { method: 'one', value: 0 },
      { method: 'two', value: 0.5 },
    ]);
    expect(matching(rows, { metric: 'coverage' })).toEqual([]);
    const [difference] = matching(contrasts, { metric: 'em' });
    expect(difference).toMatchObject({ method: 'two', against: 'one', value: 0.5 });
    expect(difference.low).toBeGreaterThan(0.2);
    expect(difference.high).toBeLessThan(0.8);
  });

  it('gives few questions of different kinds an interval', async () => {
    const answers = (right: number): object[] =>
      range(4).map((i) =>
        result({ questionId: `q-${i}`, hops: i + 1, coverage: NaN, em: i < right ? 1 : 0 }),
      );
    writeLines('few-a.jsonl', answers(0));
    writeLines('few-b.jsonl', answers(2));
    const { contrasts } = answerFigures(
      await readAll(inRoot('few-a.jsonl'), inRoot('few-b.jsonl')),
    )!;
    const [difference] = matching(contrasts, { metric: 'em' });
    expect(difference).toMatchObject({ value: 0.5, low: 0, high: 1 });
  });
});
