import { describe, expect, it } from 'vitest';
import {
  evidenceRecall,
  gaveUp,
  hasEvidence,
  subQuestionRecall,
} from '../../lib/rewards/sub-questions.js';
import type { SearchResult } from '../../lib/rollout/trajectory.js';
import { COMPARISON, HYBRID, SEQUENTIAL, SINGLE } from '../training/tiny.js';

describe('subQuestionRecall', () => {
  it('is the fraction of independent sub-questions asked, together or one by one', () => {
    expect(subQuestionRecall(COMPARISON, [['Ada Stone', 'Bo Reed', 'Cy Hill']])).toBe(1);
    expect(
      subQuestionRecall(COMPARISON, [['Ada Stone'], ['when was bo reed born'], ['Cy Hill']]),
    ).toBe(1);
    expect(subQuestionRecall(COMPARISON, [['Ada Stone', 'Ada Stone']])).toBeCloseTo(1 / 3, 12);
    expect(subQuestionRecall(COMPARISON, [])).toBe(0);
  });

  it('needs the whole name as words', () => {
    expect(subQuestionRecall(COMPARISON, [['Ada'], ['Bo Reeds'], ['Bo Cy', 'Hill']])).toBe(0);
    expect(subQuestionRecall(COMPARISON, [['the "Ada Stone"!']])).toBeCloseTo(1 / 3, 12);
  });

  it('ignores later hops', () => {
    expect(subQuestionRecall(SEQUENTIAL, [['Red River']])).toBe(1);
    expect(subQuestionRecall(HYBRID, [['Red River'], ['Bo Reed']])).toBe(0.5);
    expect(subQuestionRecall({ ...SINGLE, metadata: {} }, [['x']])).toBe(0);
  });
});

describe('evidenceRecall', () => {
  it('needs one of several passages, and a search that did not fail', () => {
    const graph = [{ ...SINGLE.metadata.graph![0], evidence: ['p1', 'p2'] }];
    const passages = [{ id: 'p2', title: 't', score: 1 }];
    const recall = (result: SearchResult) =>
      evidenceRecall(graph, { searchTurns: [{ queries: ['q'], results: [result] }] });
    expect(recall({ status: 'ok', passages })).toBe(1);
    expect(recall({ status: 'failed', reason: 'closed' })).toBe(0);
    expect(evidenceRecall([], { searchTurns: [] })).toBeNaN();
  });

  it('only counts passages shown whole', () => {
    const graph = SINGLE.metadata.graph!;
    const [id] = graph[0].evidence;
    const recall = (passage: { isCut?: true }) =>
      evidenceRecall(graph, {
        searchTurns: [
          {
            queries: ['q'],
            results: [{ status: 'ok', passages: [{ id, title: 't', score: 1, ...passage }] }],
          },
        ],
      });
    expect([recall({}), recall({ isCut: true })]).toEqual([1, 0]);
  });
});

it('hasEvidence is true if the graph names a passage for every sub-question', () => {
  const [first, ...others] = COMPARISON.metadata.graph!;
  const without = { metadata: { graph: [{ ...first, evidence: [] }, ...others] } };
  expect(
    [COMPARISON, without, { metadata: { graph: [] } }, { metadata: {} }].map(hasEvidence),
  ).toEqual([true, false, false, false]);
});

it('gaveUp is true for an answer with turns left and evidence missing', () => {
  // The answer is a call, too: with four calls, it searched three times.
  const given = { answer: 'x', modelCalls: 4, maxSearchTurns: 4, evidenceSeen: 0.5 };
  expect(
    [
      given,
      { ...given, answer: null },
      { ...given, modelCalls: 5 },
      { ...given, evidenceSeen: 1 },
    ].map(gaveUp),
  ).toEqual([true, false, false, false]);
});
