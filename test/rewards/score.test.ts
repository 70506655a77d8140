import { describe, expect, it } from 'vitest';
import { rewardOptions } from '../../lib/rewards/presets.js';
import { parseTranscript, scoreLine, shapeOfType } from '../../lib/rewards/score.js';
import { formatScoreTable } from '../../lib/rewards/score-table.js';

const paper = rewardOptions('paper');
const response =
  '<think> t </think><search> a ## b </search>\n<information>Doc 1(Title: t) x</information>\n' +
  '<think> t </think><answer> The x y </answer>';
const transcript = { id: 't1', question: 'q', golden_answers: ['x'], response };

describe('scoreLine', () => {
  it('scores a plain transcript', () => {
    const line = JSON.stringify({ ...transcript, metadata: { type: 'comparison' } });
    const score = scoreLine(line, paper);
    expect(score).toMatchObject({
      id: 't1',
      shape: 'parallelizable',
      answer: 'The x y',
      exactMatch: 0,
      formatOk: true,
      formatReason: null,
      turns: 1,
      decomposed: true,
      outcome: 0,
      searchCount: 0,
      format: 0.1,
    });
    expect(score.f1).toBeCloseTo(2 / 3, 12);
    expect(score.decomposition).toBeCloseTo(0.45, 12);
    expect(score.total).toBeCloseTo(0.55, 12);
  });

  it("scores this project's trajectories by their segments", () => {
    const line = JSON.stringify({
      questionId: 'q1',
      question: 'q',
      goldenAnswers: ['x'],
      segments: [
        { kind: 'prompt', tokenIds: [1], text: 'q' },
        { kind: 'policy', tokenIds: [2], text: '<think> t </think><answer> x </answer>', logProbs: [-1] },
      ],
      searchTurns: [],
      modelCalls: 1,
      finish: 'answer',
      shape: 'single_hop',
    });
    expect(scoreLine(line, paper)).toMatchObject({
      id: 'q1',
      shape: 'single_hop',
      exactMatch: 1,
      f1: 1,
      turns: 0,
      outcome: 1,
      decomposition: 0.15,
      searchCount: -0.35,
      format: 0,
    });
  });

  it('uses the options that it is given', () => {
    const score = scoreLine(JSON.stringify(transcript), rewardOptions('search-r1'));
    expect(score).toMatchObject({ decomposition: 0, searchCount: 0, format: 0, total: 0 });
  });
});

describe('parseTranscript', () => {
  const node = (id: string, dependsOn: string[]): object => ({
    id,
    question: 'q',
    entity: 'e',
    attribute: 'a',
    query: 'q',
    dependsOn,
    answers: ['x'],
    evidence: [],
  });

  it.each([
    ['a shape', { shape: 'hybrid', metadata: { type: 'comparison' } }, 'hybrid'],
    ['a graph', { metadata: { type: 'comparison', graph: [node('a', []), node('b', ['a'])] } }, 'sequential'],
    ['a type', { type: 'bridge' }, 'sequential'],
    ["the authors' type", { metadata: { type: 'na' } }, 'single_hop'],
    ['an unknown type', { metadata: { type: 'temporal_query' } }, undefined],
    ['nothing', {}, undefined],
    ['null', { shape: null, metadata: null }, undefined],
  ])('tells the shape from %s', (_, extra, expected) => {
    expect(parseTranscript({ ...transcript, ...extra }).shape).toBe(expected);
  });

  it.each([
    ['a list', [], 'Expected a JSON object.'],
    ['neither layout', { id: 'a' }, 'segments (a trajectory) or response'],
    ['no gold answers', { id: 'a', response: '' }, 'golden_answers'],
    ['a response of the wrong type', { ...transcript, response: 3 }, 'response'],
    [
      'a segment of an unknown kind',
      { questionId: 'a', goldenAnswers: [], segments: [{ kind: 'x', text: '' }] },
      'segments.0.kind',
    ],
    ['an unknown shape', { ...transcript, shape: 'round' }, 'shape'],
  ])('says what is wrong with %s', (_, value, message) => {
    expect(() => parseTranscript(value)).toThrow(message);
  });
});

describe('shapeOfType', () => {
  it('knows nothing of names of object members', () => {
    expect(shapeOfType('constructor')).toBeUndefined();
  });
});

describe('formatScoreTable', () => {
  it('aligns the columns and gives the means of each shape and of all', () => {
    const scores = [
      { ...transcript, id: 'a-very-long-identifier-of-a-question', type: 'comparison' },
      { ...transcript, golden_answers: ['x y'], type: 'bridge' },
    ].map((line) => scoreLine(JSON.stringify(line), paper));
    const lines = formatScoreTable(scores).split('\n');
    expect(new Set(lines.map((line) => line.length)).size).toBe(1);
    expect(lines.at(-1)).toMatch(/^mean +n = 2 +0\.500 +0\.833 +1\.000 +1\.000 +1\.000 +0\.500 /);
    expect(lines.slice(-3, -1).map((line) => line.split(' ')[0])).toEqual(['parallelizable', 'sequential']);
  });

  it('says so when there is nothing', () => {
    expect(formatScoreTable([])).toBe('No transcripts.');
  });
});
