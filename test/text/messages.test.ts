import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  closeTag,
  formatTagMessage,
  formatToolMessage,
  isTextCall,
  readToolCall,
  searchTool,
  type AssistantMessage,
} from '../../lib/text/messages.js';
import { formatFault } from '../../lib/text/response.js';
import { nextAction } from '../../lib/text/tags.js';
import { call, say } from '../policy/api/chat-stand-in.js';

const readArguments = (json: string, name = 'search') =>
  readToolCall({ id: '', type: 'function', function: { name, arguments: json } });
const print = (message: AssistantMessage, splitQueries = true) =>
  formatToolMessage(message, { splitQueries });

describe('readToolCall', () => {
  it.each([
    ['{"queries": ["a", "b"]}', ['a', 'b']],
    ['{"query": "a"}', ['a']],
    ['{"queries": "a"}', ['a']],
    ['{"queries": "[\\"a\\", \\"b\\"]"}', ['a', 'b']],
    ['{"query": ["a", " "]}', ['a']],
    ['{"query": "C# a##b"}', ['C# a b']],
    ['{"queries": ["a ## b", "<answer> c </answer>"]}', ['a b', '(answer) c (/answer)']],
    ['{"queries": []}', null],
    ['{"queries": [1]}', null],
    [JSON.stringify('{"queries": ["a", "b"]}'), ['a', 'b']], // encoded twice
    ['{"queries": ["a"', null],
    ['"a"', null],
  ])('reads %s', (json, queries) => {
    expect(readArguments(json)).toEqual(queries);
  });

  it('ignores other tools', () => {
    expect(readArguments('{"query": "a"}', 'open')).toBeNull();
  });
});

describe('searchTool', () => {
  it.each([
    [true, { queries: ['a', 'b'] }],
    [false, { query: 'a' }],
  ])('accepts a list of queries or one query: %j', (splitQueries, right) => {
    const { type, function: tool } = searchTool({ splitQueries });
    expect([type, tool.name]).toEqual(['function', 'search']);
    const schema = z.fromJSONSchema(tool.parameters);
    const wrong = [{}, { queries: [] }, { query: 1 }, { queries: [1] }, { ...right, more: 1 }];
    const accepted = [right, ...wrong].map((given) => schema.safeParse(given).success);
    expect(accepted).toEqual([true, ...wrong.map(() => false)]);
  });
});

describe('formatToolMessage', () => {
  it('merges all calls into one search without duplicate queries', () => {
    const message = { ...call({ queries: ['a', 'b'] }, { query: 'c' }, { query: 'a' }) };
    expect(print({ ...message, content: 'Both?' })).toBe(
      '<think> Both? </think>\n<search> a ## b ## c </search>',
    );
  });

  it('keeps only the first query of a policy that sends one at a time', () => {
    const two = print(call({ query: 'a' }, { query: 'b' }), false);
    expect(nextAction(two)).toMatchObject({ queries: ['a'] });
  });

  it('treats a message without calls as the answer', () => {
    const answer = '<think> I know. </think>\n<answer> Rome </answer>';
    expect(print({ ...say('Rome'), reasoning_content: 'I know.' })).toBe(answer);
    expect(print(say('<think>I know.</think>Rome'))).toBe(answer);
    // The chat template has written <think> into the prompt.
    expect(print(say('I know.\n</think>\n\nRome'))).toBe(answer);
  });

  it.each([
    '[THINK]I know.[/THINK]Rome',
    '<seed:think>I know.</seed:think>Rome',
    '<thought>\nI know.\n</thought>\nRome',
    'I know.\n[/THINK]\nRome',
  ])("reads thoughts in other models' tags: %j", (content) => {
    expect(print(say(content))).toBe('<think> I know. </think>\n<answer> Rome </answer>');
  });

  it('escapes tags in thoughts and answers', () => {
    expect(print({ ...call({ query: 'a' }), content: 'x <think>y</think> <search>' })).toBe(
      '<think> x y (search) </think>\n<search> a </search>',
    );
    expect(print(say('see <think>a</think> <b>'))).toBe(
      '<think>  </think>\n<answer> see (think)a(/think) (b) </answer>',
    );
    expect(print({ role: 'assistant', content: null })).toBe('<think>  </think>');
  });

  it('accepts tags in place of a call', () => {
    expect(print(say('It is Rome. <answer> Rome </answer> Bye.'))).toBe(
      '<think> It is Rome. </think>\n<answer> Rome </answer>',
    );
    const search = nextAction(print(say('<search> a ## b </search>')));
    expect(search).toMatchObject({ queries: ['a', 'b'] });
  });

  it('turns invalid calls into invalid actions', () => {
    expect(nextAction(print(call({ text: 'a' }))).kind).toBe('invalid');
    expect(nextAction(print(say(''))).kind).toBe('invalid');
    expect(nextAction(print(say('<think>I am not'))).kind).toBe('invalid');
  });

  it.each([
    '<tool_call>\n{"name": "search", "arguments": {"query": "a"}}\n</tool_call>',
    'I search.</think><tool_call>{"name": "search"',
    '{"name": "search", "parameters": {"query": "a"}}',
    '[{"type": "function", "name": "search", "parameters": {}}]',
    '[TOOL_CALLS][{"name": "search"}]',
    '<|python_tag|>search.call(query="a")',
    'I search for it.\n<tool_call>\n{"name": "search", "arguments": {"query": "a"}}\n</tool_call>',
    '```json\n{"name": "search", "arguments": {"query": "a"}}\n```',
    '<minimax:tool_call>\n<invoke name="search">',
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="search">',
    '[search(queries=["a"])]',
    '<|channel|>commentary to=functions.search<|message|>{"queries":["a"]}',
  ])('a call that the server left in the text is no answer: %s', (content) => {
    expect(isTextCall(content)).toBe(true);
    expect(nextAction(print(say(content))).kind).toBe('invalid');
  });

  it('an answer about calls is one', () => {
    expect(isTextCall('The tag <tool_call> begins a call')).toBe(false);
    expect(nextAction(print(say('{"name": "Rome"}'))).kind).toBe('answer');
  });

  it('turns any valid message into a valid turn', () => {
    const query = fc.string({ unit: 'binary' }).map((text) => `a ${text}`);
    const text = fc.oneof(fc.string(), fc.constantFrom('<search>', '</think>', '<answer> x'));
    fc.assert(
      fc.property(fc.array(query, { minLength: 1 }), text, (queries, content) => {
        const search = print({ ...call({ queries }), content });
        const answer = print(say(`${content}a`));
        expect(nextAction(search).kind).toBe('search');
        expect(nextAction(answer).kind).toBe('answer');
        const turns = [search, answer].map((text) => ({ kind: 'policy' as const, text }));
        expect(formatFault([turns[0], { kind: 'information', text: '' }, turns[1]])).toBeNull();
      }),
    );
  });
});

describe('closeTag', () => {
  it.each([
    ['<search> a', ['</search>', '</answer>'], '<search> a</search>'],
    ['<answer> x <|im_end|>', ['</answer>'], '<answer> x</answer>'],
    ['<answer> x', ['</search>'], '<answer> x'],
    ['<answer> x </answer>', ['</answer>'], '<answer> x </answer>'],
  ])('of %j with stop strings %j is %j', (text, stop, closed) =>
    expect(closeTag(text, stop)).toBe(closed),
  );
});

describe('formatTagMessage', () => {
  it('puts reasoning_content first and drops text after the action', () => {
    expect(formatTagMessage(say('<think> a </think><search> b </search><information>'))).toBe(
      '<think> a </think><search> b </search>',
    );
    expect(formatTagMessage(say('\na\n</think>\n<search> b </search>'))).toBe(
      '<think>a\n</think>\n<search> b </search>',
    );
    expect(formatTagMessage({ ...say(' <answer> b </answer>'), reasoning_content: 'a' })).toBe(
      '<think> a </think>\n<answer> b </answer>',
    );
  });
});
