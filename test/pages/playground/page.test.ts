/** The pure parts of the page's script. */
import { describe, expect, it } from 'vitest';
import { rolloutConfigOf } from '../../../lib/methods/index.js';
import type { Question, SubQuestion } from '../../../lib/data/question.js';
import type { AnswerEvent } from '../../../lib/pages/playground/answer.js';
import { comparisonRow, speedSentence, type Outcome } from '../../../lib/pages/playground/page/comparison.js';
import { groupByKind, kindOf } from '../../../lib/pages/playground/page/kinds.js';
import { addToLane, ticksOf, timeOf, type Span } from '../../../lib/pages/playground/page/time-line.js';
import { percentText } from '../../../lib/pages/playground/page/tokens.js';
import type { SegmentKind } from '../../../lib/rollout/trajectory.js';

const node = (id: string, dependsOn: string[] = []): SubQuestion => ({
  ...{ id, question: 'q', entity: 'e', attribute: 'a', query: 'e', dependsOn, answers: ['x'], evidence: [] },
});
const question = (...graph: SubQuestion[]): Question => ({
  ...{ id: 'q', question: 'q?', goldenAnswers: ['x'], metadata: { graph } },
});

describe('the lane of a method', () => {
  const token = (elapsedMs: number): AnswerEvent => ({
    ...{ kind: 'token', tokenId: 1, text: 'a', probability: 1, elapsedMs },
  });
  const segment = (kind: SegmentKind, text: string, elapsedMs: number): AnswerEvent => ({
    ...{ kind: 'segment', segment: kind, text, turn: null, elapsedMs },
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
  const lane = told.reduce<Span[]>(
    (spans, event) => addToLane(spans, event, { rollout: rolloutConfigOf('parallelsearch') }),
    [],
  );

  it('lets model and retriever take turns without gaps', () => {
    expect(lane).toEqual([
      { kind: 'model', fromMs: 0, toMs: 210, count: 2 },
      { kind: 'search', fromMs: 210, toMs: 1210, count: 2 },
      { kind: 'model', fromMs: 1210, toMs: 1310, count: 1 },
    ]);
    expect(timeOf(lane, 'search')).toBe(1000);
    expect(timeOf(lane, 'model')).toBe(310);
  });

  it('has at most seven ticks at round times', () => {
    expect(ticksOf(1000)).toEqual([0, 200, 400, 600, 800, 1000]);
    for (const ms of [1, 999, 7400, 61_000, 359_000]) expect(ticksOf(ms).length).toBeLessThanOrEqual(7);
  });
});

describe('percentText', () => {
  it('never rounds to certainty', () => {
    expect([1, 0.9999, 0.973, 0.0004].map(percentText)).toEqual([
      '> 99.9 %',
      '> 99.9 %',
      '97.3 %',
      '< 0.1 %',
    ]);
  });
});

describe('kinds of questions', () => {
  it('follow from the dependency graph', () => {
    const questions = [
      question(node('a')),
      question(node('a'), node('b'), node('c')),
      question(node('a'), node('b', ['a'])),
      question(node('a'), node('b', ['a']), node('c'), node('d', ['c'])),
    ];
    expect(questions.map(kindOf)).toEqual([
      'one fact',
      '3 things compared',
      'a chain of 2 steps',
      'two chains side by side',
    ]);
    expect(
      [...groupByKind([...questions, questions[0]])].map(([kind, { length }]) => [kind, length]),
    ).toEqual([
      ['3 things compared', 1],
      ['a chain of 2 steps', 1],
      ['one fact', 2],
      ['two chains side by side', 1],
    ]);
  });
});

describe('the comparison', () => {
  const outcome = (title: string, elapsedMs: number): Outcome => ({
    title,
    elapsedMs,
    spans: [{ kind: 'search', fromMs: 500, toMs: 1500, count: 2 }],
    trajectory: {
      ...{ questionId: 'q', question: 'q?', goldenAnswers: [], modelCalls: 2, finish: 'answer' },
      segments: [
        { kind: 'prompt', tokenIds: [1], text: 'q?' },
        { kind: 'policy', tokenIds: [2, 3], text: '<answer> The X </answer>' },
      ],
      searchTurns: [{ queries: ['a', 'b'], results: [] }],
    },
  });

  it('counts, and judges the answer where the gold answer is known', () => {
    expect(comparisonRow(outcome('A', 2000), ['x'])).toEqual([
      '✓ The X',
      '2',
      '1',
      '2',
      '2',
      '1.0 s',
      '2.0 s',
    ]);
    expect(comparisonRow(outcome('A', 2000), ['y'])[0]).toBe('✗ The X');
    expect(comparisonRow(outcome('A', 2000), [])[0]).toBe('The X');
  });

  it('says who was quicker', () => {
    expect(speedSentence([outcome('A', 4000), outcome('B', 2000)])).toBe(
      'B answered in 2.0 s; A took 2.0 times as long.',
    );
    expect(speedSentence([outcome('A', 2000), outcome('B', 2010)])).toBe('Both took the same time.');
  });
});
