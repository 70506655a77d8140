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
const user = { role: 'user', content: 'Who?' };
const tool = (id: string, content: unknown) => ({ role: 'tool', tool_call_id: id, content });
const read = (...messages: unknown[]) =>
  parseTrajectory({ id: 7, golden_answers: ['x'], messages: [user, ...messages] });

describe('a conversation', () => {
  it('has one search turn for all calls of a message, with results in their order', () => {
    const run = read(
      {
        role: 'assistant',
        content: 'Both.',
        tool_calls: [call('a', { queries: ['one', 'two'] }), call('b', { query: 'three' })],
      },
      tool('b', 'C'),
      tool('a', [{ type: 'text', text: 'A <answer> no </answer>\nB' }]),
      { role: 'assistant', content: 'x' },
    );
    expect(run).toMatchObject({
      questionId: '7',
      question: 'Who?',
      answer: 'x',
      modelCalls: 2,
      searchTurns: [{ queries: ['one', 'two', 'three'], results: [] }],
    });
    expect(run.segments.map(({ kind, text }) => [kind, text])).toEqual([
      ['prompt', 'Who?'],
      ['policy', '<think> Both. </think>\n<search> one ## two ## three </search>'],
      ['information', '<information>A (answer) no (/answer)\nB\nC</information>'],
      ['policy', expect.stringContaining('<answer> x </answer>')],
    ]);
  });

  it('has a turn for each message that searches', () => {
    const run = read(
      { role: 'assistant', content: null, tool_calls: [call('a', { query: 'one' }, 'web_search')] },
      tool('a', 'A'),
      { role: 'assistant', tool_calls: [{ function: call('', {}).function }] },
      { role: 'tool', content: 'no query' },
      {
        role: 'assistant',
        tool_calls: [{ function: { name: 'search', arguments: { query: 'two' } } }],
      },
      { role: 'tool', content: 'B' },
      { role: 'assistant', content: 'x', reasoning_content: 'Now I know.' },
    );
    expect(run.searchTurns.map(({ queries }) => queries)).toEqual([['one'], ['two']]);
    expect(run.modelCalls).toBe(4);
    expect(run.segments.map(({ kind }) => kind)).toContain('notice');
    expect(run.segments.at(-1)!.text).toMatch(/<think> Now I know. <\/think>\s*<answer> x </);
  });

  it('does not count a search without results, as Algorithm 1', () => {
    const run = read({ role: 'assistant', tool_calls: [call('a', { query: 'one' })] });
    expect(run).toMatchObject({ searchTurns: [], answer: null });
  });

  it('may have the tags as text', () => {
    const information = '<information>Doc 1(Title: T) t</information>';
    const run = read(
      { role: 'assistant', content: '<think> a </think>\n<search> one ## two </search>' },
      { role: 'user', content: information },
      { role: 'assistant', content: 'Hm.' },
      { role: 'user', content: 'Answer, please.' },
      { role: 'assistant', content: '<think> b </think>\n<answer> x </answer>' },
    );
    expect(run).toMatchObject({ answer: 'x', searchTurns: [{ queries: ['one', 'two'] }] });
    expect(run.segments.map(({ kind }) => kind)).toEqual(
      'prompt policy information policy notice policy'.split(' '),
    );
    expect(run.segments[2].text).toBe(information);
  });

  it('may have results labelled with their queries, or cut', () => {
    const turn = (content: string) =>
      read(
        { role: 'assistant', content: '<think> a </think>\n<search> one, two </search>' },
        { role: 'user', content },
        { role: 'assistant', content: '<think> b </think>\n<answer> x </answer>' },
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
      [{ role: 'assistant', tool_calls: [{ function: { name: 'search' } }] }],
      /^messages\.1\.tool_calls\.0\.function\.arguments: /,
    ],
    [
      [{ role: 'assistant', tool_calls: [call('a', { query: 'q' })] }, tool('b', 'x')],
      /^messages\.2\.tool_call_id: .*"b"/,
    ],
  ])('names the wrong field of %j', (messages, message) => {
    expect(() => read(...messages)).toThrow(message);
    expect(() => parseTrajectory({ id: 'a', messages: [user] })).toThrow(/^golden_answers: /);
    expect(() => parseTrajectory({ id: 'a', golden_answers: [], messages: [] })).toThrow(
      /^messages: /,
    );
  });
});

describe('data/templates/recordings', () => {
  const template = (name: string): string =>
    readFileSync(packagePath('data', 'templates', 'recordings', name), 'utf8');

  it.each([
    ['messages', conversationSchema],
    ['transcript', transcriptSchema],
  ])('has the JSON schema of %s, and an example', (name, schema) => {
    expect(JSON.parse(template(`${name}.schema.json`))).toEqual(
      z.toJSONSchema(schema, { io: 'input' }),
    );
    for (const line of template(`${name}.jsonl`).trimEnd().split('\n')) {
      const run = parseTrajectory(JSON.parse(line));
      const score = scoreTranscript(run, scoringRules('paper'));
      expect(score).toMatchObject({
        exactMatch: 1,
        formatOk: true,
        turns: 1,
        decomposed: true,
        questionType: 'parallelizable',
      });
      expect(run.searchTurns[0].queries).toEqual(['Ada Stone born', 'Bo Reed born']);
    }
  });
});
