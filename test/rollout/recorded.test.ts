import { describe, expect, it } from 'vitest';
import type { QuestionShape } from '../../lib/data/question.js';
import { MAX_TRANSCRIPT_LENGTH, parseTranscript, shapeOfType } from '../../lib/rollout/recorded.js';
import { SEQUENTIAL } from '../training/tiny.js';

const trajectory = {
  questionId: 7,
  question: 'Who?',
  goldenAnswers: ['A'],
  segments: [{ kind: 'policy', text: '<answer> A </answer>', tokenIds: [1] }],
};

describe('parseTranscript', () => {
  it('keeps what training records of a trajectory, without token ids', () => {
    const rewards = { outcome: 1, 'one at a time': -2, total: -1 };
    const turn = {
      queries: ['x', 'y'],
      results: [
        { status: 'ok', passages: [{ id: 'p', title: 't', score: 1.5 }], isUnlike: true },
        { status: 'failed', reason: 'r', detail: 'd' },
      ],
    };
    const recorded = {
      step: 3,
      finish: 'answer',
      coverage: 0.5,
      advantage: -1,
      rewards,
      searchTurns: [turn],
    };
    expect(parseTranscript({ ...trajectory, ...recorded, method: 'mine' })).toMatchObject({
      ...recorded,
      id: '7',
      question: 'Who?',
      method: 'mine',
      segments: [{ kind: 'policy', text: '<answer> A </answer>' }],
    });
    expect(parseTranscript(trajectory).segments[0]).not.toHaveProperty('tokenIds');
  });

  it('knows who wrote each segment', () => {
    const segments = ['prompt', 'policy', 'information', 'notice'].map((kind) => ({
      kind,
      text: kind,
    }));
    expect(parseTranscript({ ...trajectory, segments }).segments).toEqual(segments);
  });

  it("takes the line's own benchmark, else that of its metadata", () => {
    const metadata = { benchmark: 'nq' };
    expect(parseTranscript({ ...trajectory, metadata }).benchmark).toBe('nq');
    expect(parseTranscript({ ...trajectory, benchmark: 'mine', metadata }).benchmark).toBe('mine');
  });

  it('passes over what others record in a form of their own', () => {
    const theirs = {
      rewards: 0.3,
      step: 'last',
      searchTurns: 2,
      advantage: null,
      method: 5,
      benchmark: 1,
    };
    expect(parseTranscript({ ...trajectory, rewards: { outcome: 1 } }).rewards).toBeUndefined();
    expect(parseTranscript({ ...trajectory, ...theirs })).toMatchObject({
      rewards: undefined,
      step: undefined,
      searchTurns: undefined,
      advantage: null,
      method: undefined,
      benchmark: undefined,
    });
  });

  it('puts the prompt of a plain transcript before its response, and tells why it ended', () => {
    const line = {
      id: 'a',
      golden_answers: [],
      prompt: 'Do.',
      response: 'x',
      stop_reason: 'length',
    };
    expect(parseTranscript(line)).toMatchObject({
      finish: 'length',
      segments: [
        { kind: 'prompt', text: 'Do.' },
        { kind: 'policy', text: 'x' },
      ],
    });
  });

  const transcript = { id: 't1', golden_answers: ['x'], response: '' };

  it.each([
    ['a shape', { shape: 'hybrid', metadata: { type: 'comparison' } }, 'hybrid'],
    [
      'a graph',
      { metadata: { type: 'comparison', graph: SEQUENTIAL.metadata.graph } },
      'sequential',
    ],
    [
      'a shape of its metadata',
      { metadata: { shape: 'parallelizable', type: 'bridge' } },
      'parallelizable',
    ],
    ["the authors' type", { metadata: { type: 'na' } }, 'single_hop'],
    ['an unknown type', { metadata: { type: 'temporal_query' } }, undefined],
    ['nothing', {}, undefined],
    ['null', { shape: null, metadata: null }, undefined],
    ['the name of an object member', { type: 'constructor' }, undefined],
  ])('tells the shape from %s', (_, extra, expected) => {
    expect(parseTranscript({ ...transcript, ...extra }).shape).toBe(expected);
  });

  it.each<[shape: QuestionShape, ...types: string[]]>([
    ['parallelizable', 'comparison', 'comparison_query'],
    ['sequential', 'bridge', 'compositional', 'inference', 'inference_query', '2hop'],
    ['hybrid', 'bridge_comparison'],
    ['single_hop', 'single_hop', 'na'],
  ])('knows the shape %s and the types that have it', (shape, ...types) => {
    expect(parseTranscript({ ...transcript, shape }).shape).toBe(shape);
    expect(types.map(shapeOfType)).toEqual(types.map(() => shape));
  });

  it.each([
    ['a list', [], 'Expected a JSON object.'],
    ['null', null, 'Expected a JSON object.'],
    ['a text', 'response', 'Expected a JSON object.'],
    ['a number', 3, 'Expected a JSON object.'],
    ['neither layout', { id: 'a' }, 'segments (a trajectory) or response'],
    ['no gold answers', { id: 'a', response: '' }, 'golden_answers'],
    ['a response of the wrong type', { ...transcript, response: 3 }, 'response'],
    [
      'a segment of an unknown kind',
      { questionId: 'a', goldenAnswers: [], segments: [{ kind: 'x', text: '' }] },
      'segments.0.kind',
    ],
    [
      'a transcript that is too long',
      { ...transcript, response: 'a'.repeat(10_000_001) },
      'Expected a transcript of at most 10000000 characters, but got 10000001.',
    ],
    ['an unknown shape', { ...transcript, shape: 'round' }, 'shape'],
  ])('says what is wrong with %s', (_, value, message) => {
    expect(() => parseTranscript(value)).toThrow(message);
  });

  it('reads one of just the length that is allowed', () => {
    const response = 'a'.repeat(MAX_TRANSCRIPT_LENGTH);
    expect(parseTranscript({ ...transcript, response }).segments[0].text).toBe(response);
  });
});
