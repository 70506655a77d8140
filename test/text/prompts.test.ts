import { describe, expect, it } from 'vitest';
import { buildPrompt, encodePrompt, PROMPTS } from '../../lib/text/prompts.js';
import { parseBlocks, splitQueries } from '../../lib/text/tags.js';
import { TOKENIZER } from '../training/tiny.js';

describe('buildPrompt', () => {
  it('writes the short forms', () => {
    const form = 'short';
    const short = PROMPTS.names().map((name) => buildPrompt(name, 'who wrote Faust', { form }));
    const parallel = 'Answer with search, split parts with ##.';
    const instructions = [
      'Answer directly.',
      'Answer with search.',
      parallel,
      parallel,
      'Practice.',
    ];
    expect(short).toEqual(instructions.map((text) => `${text} Question: who wrote Faust?\n`));
  });

  it("writes the full prompt of Search-R1's data script", () => {
    expect(buildPrompt('search-r1', 'who wrote Faust', { form: 'full' })).toBe(
      'Answer the given question. You must conduct reasoning inside <think> and </think> first every time you get new ' +
        'information. After reasoning, if you find you lack some knowledge, you can call a search engine by <search> query ' +
        '</search> and it will return the top searched results between <information> and </information>. You can search as ' +
        'many times as you want. If you find no further external knowledge needed, you can directly provide the answer ' +
        'inside <answer> and </answer>, without detailed illustrations. For example, <answer> Beijing </answer>. ' +
        'Question: who wrote Faust?\n',
    );
  });

  it("writes the full prompt of RAG-R1's data script", () => {
    expect(buildPrompt('rag-r1', 'who wrote Faust', { form: 'full', separator: ',' })).toBe(
      'Answer the given question. You must conduct reasoning inside <think> and </think> first every time you get new ' +
        'information. After reasoning, if you find you lack some knowledge, you can call a search engine by <search> ' +
        'query_1,query_2 </search> and it will return the top searched results for each query between <information> and ' +
        '</information>. You can search as many times as you want, using up to three queries each time. If you find no ' +
        'further external knowledge needed, you can directly provide the answer inside <answer> and </answer>, without ' +
        'detailed illustrations. For example, <answer> Beijing </answer>. Question: who wrote Faust?\n',
    );
  });

  it.each([undefined, ',', ';', '###'])(
    'writes examples that the parser accepts, with separator %s',
    (separator) => {
      const blocks = parseBlocks(buildPrompt('parallel', 'q', { form: 'full', separator }));
      // "<think> and </think>" names two tags.
      const examples = blocks.filter(({ body }) => body.trim() !== 'and');
      expect(examples.map(({ tag, body }) => [tag, splitQueries(body, separator)])).toEqual([
        ['search', ['query']],
        ['search', ['sub-question 1', 'sub-question 2']],
        ['answer', ['Beijing']],
      ]);
    },
  );

  it('differs between Search-R1 and ParallelSearch only in the decomposition sentence', () => {
    const full = (name: string): string => buildPrompt(name, 'q', { form: 'full' });
    const [parallel, searchR1] = ['parallel', 'search-r1'].map(full);
    const sentence = /If the original query is complex.*?##.*?<\/search>\. /;
    expect(parallel).toMatch(sentence);
    expect(parallel.replace(sentence, '')).toBe(searchR1);
  });

  it("does not mention search in R1's prompt", () => {
    expect(buildPrompt('r1', 'q', { form: 'full' })).toMatch(/^(?!.*search).*<answer>/s);
  });

  it('adds a missing question mark and rejects unknown names', () => {
    const expected = 'Practice. Question: who is he?\n';
    for (const question of [' who is he ', 'who is he?'])
      expect(buildPrompt('drill', question, { form: 'short' })).toBe(expected);
    expect(() => buildPrompt('other', 'q', { form: 'short' })).toThrow('but got other');
  });
});

it('encodePrompt applies the chat template in the form chat only', () => {
  const chat = { text: 'User: a', tokenIds: [1, 2] };
  const tokenizer = { ...TOKENIZER, encodeChat: () => chat };
  const plain = { text: 'a', tokenIds: TOKENIZER.encode('a') };
  expect(encodePrompt('a', { form: 'chat', tokenizer })).toEqual(chat);
  expect(encodePrompt('a', { form: 'full', tokenizer })).toEqual(plain);
  expect(() => encodePrompt('a', { form: 'chat', tokenizer: TOKENIZER })).toThrow('chat template');
});
