import { describe, expect, it } from 'vitest';
import { MAX_TRANSCRIPT_LENGTH, parseTrajectory } from '../../lib/rollout/recorded.js';
import { SEQUENTIAL } from '../training/tiny.js';

const trajectory = {
  questionId: 7,
  question: 'Who?',
  goldenAnswers: ['A'],
  segments: [{ kind: 'policy', text: '<answer> A </answer>', tokenIds: [1] }],
};

const transcript = { id: 't1', golden_answers: ['x'], response: '' };

const THOUGHT_END = 'a </think>\n<answer> x </answer>';

describe('parseTrajectory', () => {
  it('keeps what training records, except token ids', () => {
    const rewards = { outcome: 1, 'one at a time': -2, total: -1 };
    const turn = {
      queries: ['x', 'y'],
      results: [
        { status: 'ok', passages: [{ id: 'p', title: 't', score: 1.5 }], isUnlike: true },
        { status: 'failed', reason: 'r', detail: 'd' },
      ],
    };
    const numbers = { step: 3, subQuestionRecall: 0.5, advantage: -1 };
    const recorded = { ...numbers, finish: 'answer', rewards, searchTurns: [turn] };
    expect(parseTrajectory({ ...trajectory, ...recorded, method: 'mine' })).toMatchObject({
      ...recorded,
      questionId: '7',
      question: 'Who?',
      method: 'mine',
      segments: [{ kind: 'policy', text: '<answer> A </answer>' }],
    });
    expect(parseTrajectory(trajectory).segments[0].tokenIds).toEqual([]);
  });

  it('reads the field names of earlier versions', () => {
    const line = { ...trajectory, shape: 'hybrid', coverage: 0.5 };
    expect(parseTrajectory(line)).toMatchObject({ questionType: 'hybrid', subQuestionRecall: 0.5 });
  });

  it('derives answer, model calls and search turns from the segments', () => {
    const segments = [
      { kind: 'policy', text: '<search> a ## b </search>' },
      { kind: 'information', text: '<information>x</information>' },
      ...trajectory.segments,
    ];
    expect(parseTrajectory({ ...trajectory, segments })).toMatchObject({
      answer: 'A',
      modelCalls: 2,
      searchTurns: [{ queries: ['a', 'b'], results: [] }],
    });
  });

  it('keeps the kind of each segment', () => {
    const kinds = ['prompt', 'policy', 'information', 'notice'];
    const segments = kinds.map((kind) => ({ kind, text: kind }));
    expect(parseTrajectory({ ...trajectory, segments }).segments).toMatchObject(segments);
  });

  it("prefers the line's benchmark to its metadata's", () => {
    const metadata = { benchmark: 'nq' };
    expect(parseTrajectory({ ...trajectory, metadata }).metadata?.benchmark).toBe('nq');
    const named = parseTrajectory({ ...trajectory, benchmark: 'mine', metadata });
    expect(named.metadata?.benchmark).toBe('mine');
  });

  it.each([
    [{ ...trajectory, maxSearchTurns: '4' }, /^maxSearchTurns: .*expected/],
    [{ ...transcript, max_search_turns: '4' }, /^max_search_turns: .*expected/],
    [{ ...trajectory, querySeparator: 5 }, /^querySeparator: .*expected/],
    [{ ...trajectory, subQuestionRecall: '0.5' }, /^subQuestionRecall: .*expected/],
  ])('rejects what would change scores and labels: %j', (line, reason) => {
    expect(() => parseTrajectory(line)).toThrow(reason);
  });

  it.each([
    { ...transcript, golden_answers: ['', 'Paris', ' '] },
    { ...trajectory, goldenAnswers: ['', 'Paris', ' '] },
  ])('leaves out blank right answers: %j', (line) => {
    expect(parseTrajectory(line).goldenAnswers).toEqual(['Paris']);
  });

  it("tells OpenAI's batch output from a recording with an id of its own", () => {
    expect(parseTrajectory({ ...transcript, custom_id: 'a' }).questionId).toBe('t1');
    const failed = { id: 1, custom_id: 'a', response: null };
    expect(() => parseTrajectory(failed)).toThrow("OpenAI's batch output");
  });

  it('names the fields of an object of no known format', () => {
    expect(() => parseTrajectory({ version: '1.1', data: [] })).toThrow('got version and data.');
    expect(() => parseTrajectory({})).toThrow('got an empty object.');
    const many = Object.fromEntries([...'abcdefghij'].map((name) => [name, 1]));
    expect(() => parseTrajectory(many)).toThrow('g and h.');
    expect(() => parseTrajectory({ custom_id: 1 })).toThrow('got custom_id.');
  });

  it('ignores malformed display fields', () => {
    const strange = { rewards: 0.3, step: 'last', searchTurns: 2 };
    const theirs = { ...strange, advantage: null, method: 5, benchmark: 1 };
    expect(parseTrajectory({ ...trajectory, rewards: { outcome: 1 } }).rewards).toBeUndefined();
    expect(parseTrajectory({ ...trajectory, ...theirs })).toMatchObject({
      rewards: undefined,
      step: undefined,
      searchTurns: [],
      advantage: undefined,
      method: undefined,
      metadata: { benchmark: undefined },
    });
  });

  it.each([
    '',
    'Be brief.\nWho?\n',
    '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n',
    '<s>[INST] Be brief.\n\nWho? [/INST]',
    '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n',
  ])('shows a prompt of messages, and cuts it from a response: %j', (repeated) => {
    const prompt = [
      { role: 'system', content: 'Be brief. ' },
      { role: 'user', content: [{ type: 'text', text: 'Who?' }] },
    ];
    const answer = '<think>user</think><answer>x</answer>';
    const line = { id: 1, golden_answers: ['x'], prompt, response: repeated + answer };
    expect(parseTrajectory(line).segments.map(({ kind, text }) => [kind, text])).toEqual([
      ['prompt', 'Be brief. '],
      ['prompt', 'Who?'],
      ['policy', answer],
    ]);
  });

  it('cuts a prompt in an unknown chat template by its text, or else by the question', () => {
    const content = 'Write <answer> a city </answer>.\nQuestion: Where?\n';
    const response = `USER: ${content} ASSISTANT: <think> x </think><answer> Oslo </answer>`;
    for (const more of [{ prompt: [{ role: 'user', content }] }, { question: 'Where?' }]) {
      const line = parseTrajectory({ id: 1, golden_answers: ['Oslo'], ...more, response });
      expect(line.segments.at(-1)!.text).toBe('<think> x </think><answer> Oslo </answer>');
      expect(line.ambiguous).toContain('unknown chat template');
    }
  });

  const thought = '<think> a </think>\n<answer> x </answer>';
  it.each([
    '<|im_end|>',
    '<|eot_id|>\n',
    ' </s>',
    '<end_of_turn>\n',
    '<｜end▁of▁sentence｜>',
    '[|endofturn|]',
  ])('leaves out the end of turn after an answer: %j', (end) => {
    const line = { id: 1, golden_answers: ['x'], response: thought + end };
    expect(parseTrajectory(line).segments.map(({ text }) => text)).toEqual([thought]);
  });

  it.each([
    [undefined, `<think>${THOUGHT_END}`],
    [[{ role: 'user', content: 'Who?' }], `<think>${THOUGHT_END}`],
    ['<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n', THOUGHT_END],
  ])('opens a thought unless the prompt shows that it is not open: %j', (prompt, text) => {
    const line = { id: 1, golden_answers: ['x'], prompt, response: THOUGHT_END };
    expect(parseTrajectory(line).segments.at(-1)!.text).toBe(text);
  });

  it.each([
    ['<|im_end|>\n<|im_start|>user\n', '<|im_end|>\n<|im_start|>assistant\n'],
    ['<|im_end|>\n<|im_start|>tool\n', '<|im_end|>\n<|im_start|>assistant\n'],
    ['\nuser\n', '\nassistant\n'],
  ])('reads chat turns in one text: %j', (before, after) => {
    const searched = '<think> b </think><search> c </search>';
    const information = '<information>d</information>';
    const response = `${searched}${before}${information}${after}${thought}`;
    const run = parseTrajectory({ id: 1, golden_answers: ['x'], response });
    expect(run.searchTurns).toMatchObject([{ queries: ['c'] }]);
    expect(run.segments.map(({ text }) => text)).toEqual([
      searched,
      `\n${information}`,
      `\n${thought}`,
    ]);
  });

  it('keeps the white space around the results of a search', () => {
    const response = '<search> c </search>\n\n<information>d</information>\n\n' + thought;
    const run = parseTrajectory({ id: 1, golden_answers: ['x'], response });
    expect(run.segments.map(({ text }) => text).join('')).toBe(response);
  });

  it('cuts a prompt of one text that the response repeats, and shows no empty one', () => {
    const asked = { id: 1, golden_answers: ['x'], prompt: 'Who? ', response: `Who? ${thought}` };
    const texts = (line: object) => parseTrajectory(line).segments.map(({ text }) => text);
    expect(texts(asked)).toEqual(['Who? ', thought]);
    expect(texts({ ...asked, prompt: [{ role: 'user', content: '' }], response: thought })).toEqual(
      [thought],
    );
  });

  it.each(['<s> ', '<|begin_of_text|>', '<|endoftext|><|endoftext|>', '<pad><pad><bos>'])(
    'cuts a prompt of one text after %j, which decoders leave in padded batches',
    (start) => {
      const prompt = 'An example: <answer> x </answer>. Question: who?\n';
      const line = { id: 1, golden_answers: ['x'], prompt, response: start + prompt + thought };
      expect(parseTrajectory(line).segments).toEqual([
        { kind: 'prompt', text: prompt, tokenIds: [] },
        { kind: 'policy', text: thought, tokenIds: [] },
      ]);
    },
  );

  it('keeps a response that quotes the prompt later', () => {
    const response = `So Who? ${thought}`;
    const line = { id: 1, golden_answers: ['x'], prompt: 'Who?', response };
    expect(parseTrajectory(line).segments.map(({ text }) => text)).toEqual(['Who?', response]);
  });

  it('keeps a response that repeats only a part of the prompt', () => {
    const prompt = [{ role: 'user', content: 'Who?' }];
    const response = 'Who? I? <answer>Who?</answer>';
    const cut = { id: 1, golden_answers: ['x'], prompt: [...prompt, ...prompt], response };
    expect(parseTrajectory(cut).segments.at(-1)!.text).toBe(response);
  });

  it("puts a plain transcript's prompt first and keeps its stop reason", () => {
    const texts = { prompt: 'Do.', response: 'x', stop_reason: 'length' };
    expect(parseTrajectory({ ...transcript, ...texts })).toMatchObject({
      finish: 'length',
      segments: [
        { kind: 'prompt', text: 'Do.' },
        { kind: 'policy', text: 'x' },
      ],
    });
  });

  it.each([
    ['a question type', { questionType: 'hybrid', metadata: { type: 'comparison' } }, 'hybrid'],
    ['a graph', { metadata: { ...SEQUENTIAL.metadata, type: 'comparison' } }, 'sequential'],
    ['metadata', { metadata: { questionType: 'hybrid', type: 'bridge' } }, 'hybrid'],
    ["the authors' type", { metadata: { type: 'na' } }, 'single_hop'],
    ['an unknown type', { metadata: { type: 'temporal_query' } }, undefined],
    ['nothing', {}, undefined],
    ['null', { questionType: null, metadata: null }, undefined],
    ['the name of an object member', { type: 'constructor' }, undefined],
  ])('takes the question type from %s', (_, extra, expected) => {
    expect(parseTrajectory({ ...transcript, ...extra }).questionType).toBe(expected);
  });

  it.each([
    ['a list', [], 'JSON object'],
    ['null', null, 'JSON object'],
    ['a text', 'response', 'JSON object'],
    ['a number', 3, 'JSON object'],
    ['neither layout', { id: 'a' }, 'response'],
    ['no id', { ...transcript, id: undefined }, 'id: expected text or a number'],
    ['no gold answers', { id: 'a', response: '' }, 'golden_answers'],
    ['a response of the wrong type', { ...transcript, response: 3 }, 'response'],
    [
      'an unknown segment',
      { ...trajectory, segments: [{ kind: 'x', text: '' }] },
      'segments.0.kind',
    ],
    [
      'a graph with a cycle',
      {
        ...transcript,
        questionType: 'sequential',
        metadata: {
          graph: SEQUENTIAL.metadata.graph!.map((node) => ({ ...node, dependsOn: [node.id] })),
        },
      },
      'acyclic',
    ],
    ['an overlong transcript', { ...transcript, response: 'a'.repeat(10_000_001) }, '10000001'],
    ['an unknown question type', { ...transcript, questionType: 'round' }, 'questionType'],
  ])('rejects %s', (_, value, message) => {
    expect(() => parseTrajectory(value)).toThrow(message);
  });

  it('reads a transcript of the maximum length', () => {
    const response = 'a'.repeat(MAX_TRANSCRIPT_LENGTH);
    expect(parseTrajectory({ ...transcript, response }).segments[0].text).toBe(response);
  });
});
