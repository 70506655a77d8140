import { describe, expect, it } from 'vitest';
import { percentText } from '../../../lib/pages/playground/browser/column.js';
import { describeType, groupByType } from '../../../lib/pages/playground/browser/form.js';
import {
  extendLane,
  outcomeCells,
  speedSentence,
  tickTimes,
  totalTime,
  type FinishedLane,
  type Span,
} from '../../../lib/pages/playground/browser/time-line.js';
import type { PlaygroundEvent } from '../../../lib/pages/playground/browser/worker.js';
import type { SegmentKind } from '../../../lib/rollout/trajectory.js';
import { graphOf, questionOf } from '../../data/questions.js';

describe('a method’s lane', () => {
  const token = (elapsedMs: number): PlaygroundEvent => {
    return { type: 'text', text: 'a', token: { id: 1, probability: 1 }, elapsedMs };
  };
  const segment = (
    segment: SegmentKind,
    elapsedMs: number,
    queries: string[] | null = null,
  ): PlaygroundEvent => {
    return { type: 'segment', segment, text: '', queries, turn: null, elapsedMs };
  };
  const events = [
    segment('prompt', 1),
    token(100),
    token(200),
    segment('policy', 210, ['X', 'Y']),
    segment('information', 1210),
    token(1300),
    segment('policy', 1310),
  ];

  it('alternates model and retriever without gaps', () => {
    const lane = events.reduce<Span[]>((spans, event) => extendLane(spans, event), []);
    expect(lane).toEqual([
      { kind: 'model', fromMs: 0, toMs: 210, count: 2 },
      { kind: 'search', fromMs: 210, toMs: 1210, count: 2 },
      { kind: 'model', fromMs: 1210, toMs: 1310, count: 1 },
    ]);
    expect([totalTime(lane, 'search'), totalTime(lane, 'model')]).toEqual([1000, 310]);
  });

  it('has at most seven ticks, at round times', () => {
    expect(tickTimes(1000)).toEqual([0, 200, 400, 600, 800, 1000]);
    for (const ms of [1, 999, 7400, 61_000, 359_000])
      expect(tickTimes(ms).length).toBeLessThanOrEqual(7);
  });
});

describe('percentText', () => {
  it.each([
    [1, '> 99.9 %'],
    [0.9999, '> 99.9 %'],
    [0.973, '97.3 %'],
    [0.0004, '< 0.1 %'],
  ])('shows %d as %s, never rounded to 0 or 100 %', (probability, text) => {
    expect(percentText(probability)).toBe(text);
  });
});

describe('question types', () => {
  const types = {
    'comparison of 3': questionOf(graphOf({ a: [], b: [], c: [] })),
    'chain of 2': questionOf(graphOf({ a: [], b: ['a'] })),
    'one fact': questionOf(graphOf({ a: [] })),
    'two parallel chains': questionOf(graphOf({ a: [], b: ['a'], c: [], d: ['c'] })),
  };

  it.each(Object.entries(types))('are derived from the dependency graph: %s', (type, question) => {
    expect(describeType(question)).toBe(type);
  });

  it('are sorted by name', () => {
    const groups = groupByType([types['one fact'], ...Object.values(types)]);
    expect([...groups.keys()]).toEqual(Object.keys(types).sort());
    expect([...groups.values()].map(({ length }) => length)).toEqual([1, 1, 2, 1]);
  });
});

describe('the comparison of two lanes', () => {
  const lane = (title: string, endMs: number): FinishedLane => ({
    title,
    spans: [
      { kind: 'search', fromMs: 500, toMs: 1500, count: 2 },
      { kind: 'model', fromMs: 1500, toMs: endMs, count: 2 },
    ],
    trajectory: {
      questionId: 'q',
      question: 'q?',
      goldenAnswers: [],
      modelCalls: 2,
      finish: 'answer',
      answer: 'The X',
      segments: [
        { kind: 'prompt', tokenIds: [1], text: 'q?' },
        { kind: 'policy', tokenIds: [2, 3], text: '<answer> The X </answer>' },
      ],
      searchTurns: [{ queries: ['a', 'b'], results: [] }],
    },
  });

  it.each([
    { gold: ['x'], answer: '✓ The X' },
    { gold: ['y'], answer: '✗ The X' },
    { gold: [], answer: 'The X' },
  ])('counts, and marks the answer if the gold answer is known: $answer', ({ gold, answer }) => {
    const row = [answer, '2', '1', '2', '2', '1.0 s', '2.0 s'];
    expect(outcomeCells(lane('A', 2000), gold)).toEqual(row);
  });

  it.each([
    [4000, 2000, 'B took 2.0 s, A 2.0 times as long.'],
    [2000, 2010, 'Both took the same time.'],
  ])('states which was faster: %d or %d ms', (a, b, sentence) => {
    expect(speedSentence([lane('A', a), lane('B', b)])).toBe(sentence);
  });
});
