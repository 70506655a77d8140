import { describe, expect, it } from 'vitest';
import { turnsFromSegments, viewerData } from '../../../lib/pages/viewer/data.js';
import { shownResults } from '../../../lib/report/segments.js';
import { parseTrajectory } from '../../../lib/rollout/recorded.js';
import { splitTranscript } from '../../../lib/text/response.js';
import { wrapResults } from '../../../lib/text/tags.js';
import { recordedLine, syntheticData, syntheticLines, syntheticQuestion } from './synthetic.js';
import type { TurnSpec } from './synthetic.js';

const prepared = (i: number, turns: TurnSpec[], answer: string | null, extra = {}) =>
  syntheticData([recordedLine(syntheticQuestion(i), turns, answer, extra)], i + 1).trajectories[0];
const parsed = (transcript: object) =>
  syntheticData([parseTrajectory({ id: 'q', golden_answers: ['c'], ...transcript })]);

describe('viewerData', () => {
  it('omits token ids and log-probs', () => {
    const data = syntheticData(syntheticLines(100), 10);
    expect(data.trajectories).toHaveLength(100);
    expect(JSON.stringify(data)).not.toMatch(/tokenIds|logProbs/);
  });

  it('keeps recorded rewards, and computes missing ones', () => {
    const rewards = {
      outcome: 1,
      decomposition: 9,
      search_count: 0,
      format: 0,
      brief: -1,
      total: 9,
    };
    const turns = [{ queries: ['Town0', 'River0'] }];
    const recorded = { rewards, advantage: 1.5, step: 7 };
    expect(prepared(0, turns, 'Town0', recorded)).toMatchObject({ ...recorded, isRecorded: true });
    const computed = prepared(0, turns, 'Town0');
    const unknown = { isRecorded: false, advantage: undefined, step: undefined };
    const own = { method: 'm', exactMatch: 1, subQuestionRecall: 1 };
    expect(computed).toMatchObject({ ...unknown, ...own });
    expect(computed.rewards.total).toBeCloseTo(1.45, 12);
  });

  it('finds a question by id or by text, but not if text or answers differ', () => {
    const question = syntheticQuestion(0);
    const options = { preset: 'paper', questions: [question] };
    const transcript = { id: 'q-0', golden_answers: question.goldenAnswers, response: '' };
    const questionOf = (extra: object) =>
      viewerData([parseTrajectory({ ...transcript, ...extra })], options).trajectories[0];
    const { question: text, metadata } = question;
    const known = { type: 'comparison', graph: metadata.graph };
    const found = { metadata: known, questionType: 'parallelizable' };
    for (const extra of [{}, { question: text }, { id: 'other', question: text }])
      expect(questionOf(extra)).toMatchObject(found);
    const unknown = { metadata: { type: undefined, graph: undefined }, questionType: undefined };
    for (const extra of [{ question: 'Another?' }, { golden_answers: ['another'] }])
      expect(questionOf(extra)).toMatchObject(unknown);
  });

  it('reads the turns of a plain transcript', () => {
    const found = '<information>Doc 1(Title: "A") a\nDoc 2(Title: "B") b</information>';
    const failed = '<information>Retrieval failed: no network</information>';
    const response = `<search> x ## y </search>${found}<search> z </search>${failed}<answer> a </answer>`;
    expect(turnsFromSegments(splitTranscript(response))).toEqual([
      { queries: ['x', 'y'], results: [{ status: 'unscored' }] },
      { queries: ['z'], results: [{ status: 'failed', reason: 'no network' }] },
    ]);
  });

  it('reads a transcript of RAG-R1', () => {
    const documents = ['Doc 1: Paris   A city.', 'Doc 1: Rome   Another.'];
    const block = wrapResults(documents, { form: 'json', queries: ['x', 'y'] });
    const response = `<think> a </think><search> x, y </search>${block}<think> b </think><answer> c </answer>`;
    const [shown] = parsed({ response }).trajectories;
    expect(shown).toMatchObject({ exactMatch: 1, formatReason: null, numTurns: 1, totalSteps: 4 });
    expect(shown.turns.map(({ queries }) => queries)).toEqual([['x', 'y']]);
    const { passages } = shownResults(shown.turns[0], block)[1];
    expect(passages).toMatchObject([{ title: 'Rome', text: 'Another.' }]);
  });
});

describe('viewer labels', () => {
  it('are behaviour labels, format faults and search failures', () => {
    expect(prepared(0, [{ queries: ['Town0', 'River0'] }], 'Town0').labels).toEqual([]);
    expect(prepared(0, [{ queries: ['Town0', 'Elsewhere'] }], 'x').labels).toEqual([
      'under_search',
      'half_decomposed',
      'shown_answer_missed',
    ]);
    expect(prepared(1, [{ queries: ['Town1', 'River1'], failed: true }], null).labels).toEqual([
      'over_parallelized',
      'out_of_turns',
      'no_answer',
      'malformed',
      'failed_retrieval',
    ]);
    const late = parsed({ response: '<search> a </search>', stop_reason: 'timeout' });
    expect(late.trajectories[0].labels).toContain('failed_retrieval');
    const data = parsed({ response: 'a</information>' });
    expect(data.trajectories[0].labels).toContain('ambiguous');
    expect(data.labelTitles.ambiguous).toMatch(/^Ambiguous/);
  });
});
