import { describe, expect, it } from 'vitest';
import { scoringRules } from '../../lib/rewards/presets.js';
import { scoreTranscript, type TranscriptScore } from '../../lib/rewards/score.js';
import { parseTrajectory } from '../../lib/rollout/recorded.js';

const response =
  '<think> t </think><search> a ## b </search>\n<information>Doc 1(Title: t) x</information>\n' +
  '<think> t </think><answer> The x y </answer>';
const transcript = { id: 't1', question: 'q', golden_answers: ['x'], response };

const scored = (line: object): TranscriptScore =>
  scoreTranscript(parseTrajectory(line), scoringRules('paper'));

describe('scoreTranscript', () => {
  it('scores a plain transcript', () => {
    const { rewards, ...score } = scored({ ...transcript, metadata: { type: 'comparison' } });
    expect(score).toMatchObject({
      id: 't1',
      questionType: 'parallelizable',
      answer: 'The x y',
      exactMatch: 0,
      formatOk: true,
      formatReason: null,
      turns: 1,
      modelCalls: 2,
      decomposed: true,
    });
    expect(score.f1).toBeCloseTo(2 / 3, 12);
    expect(rewards).toMatchObject({ outcome: 0, search_count: 0, format: 0.1 });
    expect(rewards.total).toBeCloseTo(0.55, 12);
  });

  it('scores trajectories by their segments', () => {
    const line = {
      questionId: 'q1',
      goldenAnswers: ['x'],
      searchTurns: [],
      shape: 'single_hop',
      segments: [
        { kind: 'prompt', tokenIds: [1], text: 'q' },
        {
          kind: 'policy',
          tokenIds: [2],
          text: '<think> t </think><answer> x </answer>',
          logProbs: [-1],
        },
      ],
    };
    expect(scored(line)).toMatchObject({
      id: 'q1',
      questionType: 'single_hop',
      exactMatch: 1,
      f1: 1,
      turns: 0,
      rewards: { outcome: 1, decomposition: 0.15, search_count: -0.35, format: 0 },
    });
  });

  it("reports ambiguous transcripts and counts doubtful text as the policy's", () => {
    expect(scored(transcript).ambiguous).toBeNull();
    const doubtful = scored({ ...transcript, response: `<search> z </search>${response}` });
    expect(doubtful).toMatchObject({ turns: 0, formatOk: false });
    expect(doubtful.ambiguous).toContain('follows a search');
  });
});
