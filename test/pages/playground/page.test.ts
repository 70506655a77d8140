/** The pure parts of the page's script. */
import { describe, expect, it } from 'vitest';
import { rolloutConfigOf } from '../../../lib/methods/index.js';
import type { AnswerEvent } from '../../../lib/rollout/answer.js';
import {
  comparisonRow,
  speedSentence,
  type Outcome,
} from '../../../lib/pages/playground/browser/comparison.js';
import { groupByKind, kindOf } from '../../../lib/pages/playground/browser/form.js';
import {
  addToLane,
  ticksOf,
  timeOf,
  type Span,
} from '../../../lib/pages/playground/browser/time-line.js';
import { percentText } from '../../../lib/pages/playground/browser/tokens.js';
import type { SegmentKind } from '../../../lib/rollout/trajectory.js';
import { graphOf, questionOf } from '../../data/questions.js';

describe('the lane of a method', () => {
  const token = (elapsedMs: number): AnswerEvent => ({
    kind: 'token',
    tokenId: 1,
    text: 'a',
    probability: 1,
    elapsedMs,
  });
  const segment = (kind: SegmentKind, text: string, elapsedMs: number): AnswerEvent => ({
    kind: 'segment',
    segment: kind,
    text,
    turn: null,
    elapsedMs,
  });
  const told = [
    segment('prompt', 'q?', 1),
    token(100),
    token(200),
    segment('policy', '<search> X ## Y </search>', 210),
    segment('information', '<information></information>', 1210),
    token(1300),
    segment('policy', '<answer> X </answer>', 1310),
  ];
  const method = { rollout: rolloutConfigOf('parallelsearch') };

  it('lets model and retriever take turns without gaps', () => {
    const lane = told.reduce<Span[]>((spans, event) => addToLane(spans, event, method), []);
    expect(lane).toEqual([
      { kind: 'model', fromMs: 0, toMs: 210, count: 2 },
      { kind: 'search', fromMs: 210, toMs: 1210, count: 2 },
      { kind: 'model', fromMs: 1210, toMs: 1310, count: 1 },
    ]);
    expect([timeOf(lane, 'search'), timeOf(lane, 'model')]).toEqual([1000, 310]);
  });

  it('has at most seven ticks at round times', () => {
    expect(ticksOf(1000)).toEqual([0, 200, 400, 600, 800, 1000]);
    for (const ms of [1, 999, 7400, 61_000, 359_000])
      expect(ticksOf(ms).length).toBeLessThanOrEqual(7);
  });
});

describe('percentText', () => {
  it.each([
    [1, '> 99.9 %'],
    [0.9999, '> 99.9 %'],
    [0.973, '97.3 %'],
    [0.0004, '< 0.1 %'],
  ])('of %d is %s, never rounded to certainty', (probability, text) => {
    expect(percentText(probability)).toBe(text);
  });
});

describe('kinds of questions', () => {
  const kinds = {
    '3 things compared': questionOf(graphOf({ a: [], b: [], c: [] })),
    'a chain of 2 steps': questionOf(graphOf({ a: [], b: ['a'] })),
    'one fact': questionOf(graphOf({ a: [] })),
    'two chains side by side': questionOf(graphOf({ a: [], b: ['a'], c: [], d: ['c'] })),
  };

  it.each(Object.entries(kinds))('follow from the dependency graph: %s', (kind, asked) => {
    expect(kindOf(asked)).toBe(kind);
  });

  it('are in the order of their names', () => {
    const groups = groupByKind([kinds['one fact'], ...Object.values(kinds)]);
    expect([...groups.keys()]).toEqual(Object.keys(kinds));
    expect([...groups.values()].map(({ length }) => length)).toEqual([1, 1, 2, 1]);
  });
});

describe('the comparison', () => {
  const outcome = (title: string, elapsedMs: number): Outcome => ({
    title,
    elapsedMs,
    spans: [{ kind: 'search', fromMs: 500, toMs: 1500, count: 2 }],
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
  ])(
    'counts, and judges the answer where the gold answer is known: $answer',
    ({ gold, answer }) => {
      const row = [answer, '2', '1', '2', '2', '1.0 s', '2.0 s'];
      expect(comparisonRow(outcome('A', 2000), gold)).toEqual(row);
    },
  );

  it.each([
    [4000, 2000, 'B answered in 2.0 s; A took 2.0 times as long.'],
    [2000, 2010, 'Both took the same time.'],
  ])('says who was quicker: %d or %d ms', (a, b, sentence) => {
    expect(speedSentence([outcome('A', a), outcome('B', b)])).toBe(sentence);
  });
});
