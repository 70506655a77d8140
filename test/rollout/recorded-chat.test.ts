import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { packagePath } from '../../lib/io/paths.js';
import { scoringRules } from '../../lib/rewards/presets.js';
import { scoreTranscript } from '../../lib/rewards/score.js';
import {
  conversationSchema,
  parseTrajectory,
  transcriptSchema,
} from '../../lib/rollout/recorded.js';
import { wrapResults } from '../../lib/text/tags.js';

const call = (id: string, args: unknown, name = 'search') => ({
  id,
  type: 'function',
  function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
});
const says = (content: string) => ({ role: 'assistant', content });
const calls = (...tool_calls: object[]) => ({ role: 'assistant', tool_calls });
const user = { role: 'user', content: 'Who?' };
const tool = (id: string, content: unknown) => ({ role: 'tool', tool_call_id: id, content });
const read = (...messages: unknown[]) =>
  parseTrajectory({ id: 7, golden_answers: ['x'], messages: [user, ...messages] });

describe('a recorded conversation', () => {
  it('has one search turn for all calls of a message, with results in order', () => {
    const run = read(
      {
        ...calls(call('a', { queries: ['one', 'two'] }), call('b', { query: 'three' })),
        content: 'Both.',
      },
      tool('b', 'C'),
      tool('a', [{ type: 'text', text: 'A <answer> no </answer>\nB' }]),
      says('x'),
    );
    const asked = { questionId: '7', question: 'Who?', answer: 'x', modelCalls: 2 };
    const searchTurns = [{ queries: ['one', 'two', 'three'], results: [] }];
    expect(run).toMatchObject({ ...asked, searchTurns });
    expect(run.segments.map(({ kind, text }) => [kind, text])).toEqual([
      ['prompt', 'Who?'],
      ['policy', '<think> Both. </think>\n<search> one ## two ## three </search>'],
      ['information', '<information>A (answer) no (/answer)\nB\nC</information>'],
      ['policy', expect.stringContaining('<answer> x </answer>')],
    ]);
  });

  it('reads a `function_call` like a tool call', () => {
    const function_call = call('', { query: 'one' }).function;
    const run = read(
      { role: 'assistant', content: null, function_call },
      { role: 'function', name: 'search', content: 'A' },
      says('x'),
    );
    const searchTurns = [{ queries: ['one'], results: [] }];
    expect(run).toMatchObject({ answer: 'x', modelCalls: 2, searchTurns });
  });

  it.each([
    { query_list: ['one', 'two'], topk: 3 }, // verl's search tool
    { q: ['one', 'two'] },
    { searchQueries: '["one", "two"]' },
    { query_type: 'hybrid', search_query: ['one', 'two'] },
    { query_weight: 0.5, query_text: ['one', 'two'] },
    JSON.stringify(JSON.stringify({ queries: ['one', 'two'] })), // encoded twice
  ])('finds the queries among the arguments %j', (args) => {
    const run = read(calls(call('', args)), tool('', 'A'), says('x'));
    expect(run.searchTurns).toMatchObject([{ queries: ['one', 'two'] }]);
  });

  it('rejects several arguments that may be the queries', () => {
    const args = { main_query: 'one', backup_query: 'two' };
    expect(() => read(calls(call('', args)), tool('', 'A'), says('x'))).toThrow(
      'main_query and backup_query. Rename it to queries',
    );
  });

  it.each([
    ['examples', [says('Paris'), user, says('x')]],
    [
      'follow-up questions',
      [calls(call('a', { query: 'one' })), tool('a', 'A'), says('x'), user, says('y')],
    ],
    ['answers in tags', [says('<answer> Paris </answer>'), user, says('<answer> x </answer>')]],
  ])('is ambiguous with %s', (_, messages) => {
    expect(read(...messages).ambiguous).toContain('several answers');
    expect(read(...messages.slice(0, -2)).ambiguous).toBeUndefined();
  });

  it('prefers the arguments `queries` and `query`', () => {
    const both = { my_query: 'three', queries: ['one', 'two'] };
    const run = read(calls(call('', both)), tool('', 'A'), says('x'));
    expect(run.searchTurns).toMatchObject([{ queries: ['one', 'two'] }]);
  });

  it.each([
    [{ query: 'one' }, 'calculate'],
    [{ topk: 3 }, 'search'],
  ])('does not search with %j of %s', (args, name) => {
    const run = read(calls(call('', args, name)), tool('', 'A'), says('x'));
    expect(run).toMatchObject({ searchTurns: [], modelCalls: 2 });
    expect(run.segments[1].text).toContain(JSON.stringify([call('', args, name)]));
  });

  it('has a turn for each message that searches', () => {
    const run = read(
      { ...calls(call('a', { query: 'one' }, 'web_search')), content: null },
      tool('a', 'A'),
      calls({ function: call('', {}).function }),
      { role: 'tool', content: 'no query' },
      calls({ function: { name: 'search', arguments: { query: 'two' } } }),
      { role: 'tool', content: 'B' },
      { ...says('x'), reasoning_content: null, reasoning: 'Now I know.' },
    );
    expect(run.searchTurns.map(({ queries }) => queries)).toEqual([['one'], ['two']]);
    expect(run.modelCalls).toBe(4);
    expect(run.segments[4]).toMatchObject({ kind: 'notice', text: '\nno query\n' });
    expect(run.segments.at(-1)!.text).toMatch(/<think> Now I know. <\/think>\s*<answer> x </);
  });

  it('keeps text parts, also next to an invalid call', () => {
    const parts = [{ type: 'text', text: 'A' }, { type: 'image_url' }, { type: 'text', text: 'B' }];
    const run = read(
      calls(call('a', {}), call('b', { query: 'two' })),
      tool('a', 'Which query?'),
      tool('b', parts),
      says('x'),
    );
    expect(run.searchTurns).toMatchObject([{ queries: ['two'] }]);
    expect(run.segments[2].text).toBe('<information>Which query?\nA\nB</information>');
  });

  it.each(['tool_use', 'thinking'])('rejects parts of another API: %s', (type) => {
    const message = { role: 'assistant', content: [{ type, name: 'search' }] };
    expect(() => read(message, says('x'))).toThrow(new RegExp(`but got ${type}\\. Convert`));
  });

  it('takes its question from the last user message before the first reply', () => {
    const system = { role: 'system', content: 'Be brief.' };
    const messages = [{ ...user, content: 'Hello.' }, user, system, says('x')];
    const run = parseTrajectory({ id: 7, golden_answers: ['x'], messages });
    expect(run.question).toBe('Who?');
    expect(run.segments.map(({ kind }) => kind).join(' ')).toBe('prompt prompt prompt policy');
  });

  it('is an answer without tags, even if the question names them', () => {
    const asked = { role: 'user', content: 'Do not write <answer> x </answer>. Who?' };
    const messages = [asked, says('x<|im_end|>')];
    expect(parseTrajectory({ id: 7, golden_answers: ['x'], messages }).answer).toBe('x');
  });

  it('does not count a search without results, like Algorithm 1', () => {
    const run = read(calls(call('a', { query: 'one' })));
    expect(run).toMatchObject({ searchTurns: [], answer: null });
  });

  it('may contain tags', () => {
    const information = '<information>Doc 1(Title: T) t</information>';
    const run = read(
      says('<think> a </think>\n<search> one ## two </search>'),
      { role: 'user', content: information },
      says('Hm.'),
      { role: 'user', content: 'Answer, please.' },
      says('<think> b </think>\n<answer> x </answer>'),
    );
    expect(run).toMatchObject({ answer: 'x', searchTurns: [{ queries: ['one', 'two'] }] });
    expect(run.segments.map(({ kind, text }) => [kind, text])).toEqual([
      ['prompt', 'Who?'],
      ['policy', '<think> a </think>\n<search> one ## two </search>'],
      ['information', information],
      ['policy', 'Hm.'],
      ['notice', '\nAnswer, please.\n'],
      ['policy', '<think> b </think>\n<answer> x </answer>'],
    ]);
  });

  it.each(['Doc 1(Title: T) t', '<information>Doc 1(Title: T) t</information>'])(
    'may have a tool message after a search in tags: %s',
    (content) => {
      const run = read(
        says('<think> a </think>\n<search> one </search>'),
        { role: 'tool', content },
        says('<think> b </think>\n<answer> x </answer>'),
      );
      expect(run).toMatchObject({ answer: 'x', searchTurns: [{ queries: ['one'] }] });
      expect(run.segments[2]).toMatchObject({
        kind: 'information',
        text: '<information>Doc 1(Title: T) t</information>',
      });
    },
  );

  it.each([
    ['after a thought', says('<think> a </think>'), { role: 'tool', content: '4' }],
    [
      'that answers another call than a search, even if the text searches',
      { ...calls(call('a', { sum: '2 + 2' }, 'calculate')), ...says('<search> one </search>') },
      tool('a', '4'),
    ],
  ])('makes a notice of a tool message %s', (_, first, result) => {
    const run = read(first, result, says('<think> b </think>\n<answer> x </answer>'));
    expect(run.segments[2]).toMatchObject({ kind: 'notice', text: '\n4\n' });
  });

  const thought = '<think> a </think>\n';
  const information = { role: 'user', content: '<information>b</information>' };
  it.each([
    ['without stop strings', '', ''],
    ['with end tokens', '</search><|im_end|>', '</answer><|im_end|>'],
  ])('is read as it was answered, %s', (_, searchEnd, answerEnd) => {
    const run = read(
      says(`${thought}<search> c${searchEnd}`),
      information,
      says(`${thought}<answer> x${answerEnd}`),
    );
    expect(run).toMatchObject({ answer: 'x', searchTurns: [{ queries: ['c'] }] });
    expect(run.segments.at(-1)!.text).toBe(`${thought}<answer> x</answer>`);
  });

  it('may have tags in the content and the thought in reasoning_content', () => {
    const run = read({ ...says('<answer> x </answer>'), reasoning_content: 'I know.' });
    expect(run.answer).toBe('x');
    expect(run.segments[1].text).toMatch(/^<think> I know. <\/think>\s*<answer> x <\/answer>$/);
    // The chat template has written <think> into the prompt.
    const half = read(says('I know.</think><answer> x </answer>'));
    expect(half.segments[1].text).toBe('<think>I know.</think><answer> x </answer>');
  });

  it('may label results with queries or cut them off', () => {
    const turn = (content: string) =>
      read(
        says('<think> a </think>\n<search> one, two </search>'),
        { role: 'user', content },
        says('<think> b </think>\n<answer> x </answer>'),
      );
    const content = wrapResults(['Doc 1: T   t', ''], { form: 'json', queries: ['one', 'two'] });
    const labelled = turn(content);
    expect(labelled.segments[2]).toMatchObject({ kind: 'information', text: content });
    expect(labelled.searchTurns).toMatchObject([{ queries: ['one', 'two'] }]);
    const cut = turn('<information>Doc 1(Title: T) t\nDoc 2(Ti');
    expect(cut.segments[2].kind).toBe('information');
    expect(cut.searchTurns).toMatchObject([{ queries: ['one, two'] }]);
  });

  it.each([
    [[{ role: 'robot', content: 'x' }], /^messages\.1\.role: /],
    [[{ role: 'user', content: 5 }], /^messages\.1\.content: /],
    [
      [calls({ function: { name: 'search' } })],
      /^messages\.1\.tool_calls\.0\.function\.arguments: /,
    ],
    [[calls(call('a', { query: 'q' })), tool('b', 'x')], /^messages\.2\.tool_call_id: .*"b"/],
  ])('is rejected with the invalid field: %j', (messages, message) => {
    expect(() => read(...messages)).toThrow(message);
    expect(() => parseTrajectory({ id: 'a', messages: [user] })).toThrow(/^golden_answers: /);
    const empty = { id: 'a', golden_answers: [], messages: [] };
    expect(() => parseTrajectory(empty)).toThrow(/^messages: /);
  });
});

describe('data/templates/recordings', () => {
  const template = (name: string): string =>
    readFileSync(packagePath('data', 'templates', 'recordings', name), 'utf8');

  it.each([
    ['messages', conversationSchema],
    ['transcript', transcriptSchema],
  ])('has the JSON schema of %s, and an example', (name, schema) => {
    const expected = z.toJSONSchema(schema, { io: 'input' });
    expect(JSON.parse(template(`${name}.schema.json`))).toEqual(expected);
    for (const line of template(`${name}.jsonl`).trimEnd().split('\n')) {
      const run = parseTrajectory(JSON.parse(line));
      const score = scoreTranscript(run, scoringRules('paper'));
      const measured = { exactMatch: 1, formatOk: true, turns: 1, decomposed: true };
      expect(score).toMatchObject({ ...measured, questionType: 'parallelizable' });
      expect(run.searchTurns[0].queries).toEqual(['Ada Stone born', 'Bo Reed born']);
    }
  });
});
