import { describe, expect, it } from 'vitest';
import { askedQuestion, buildPrompt, PROMPT_NAMES } from '../../lib/text/prompts.js';

describe('buildPrompt', () => {
  it('writes the short forms', () => {
    const short = PROMPT_NAMES.map((name) => buildPrompt(name, 'who wrote Faust', { form: 'short' }));
    expect(short).toEqual([
      'Answer directly. Question: who wrote Faust?\n',
      'Answer with search. Question: who wrote Faust?\n',
      'Answer with search, split parts with ##. Question: who wrote Faust?\n',
      'Practice. Question: who wrote Faust?\n',
    ]);
  });

  it('differs between Search-R1 and ParallelSearch by the sentence about decomposing alone', () => {
    const parallel = buildPrompt('parallel', 'q', { form: 'full' });
    const searchR1 = buildPrompt('search-r1', 'q', { form: 'full' });
    const sentence = /If the original query is complex.*?<\/search>\. /;
    expect(parallel).toMatch(sentence);
    expect(parallel.match(sentence)?.[0]).toContain('##');
    expect(parallel.replace(sentence, '')).toBe(searchR1);
  });

  it('speaks of no search to a model without search', () => {
    const prompt = buildPrompt('r1', 'q', { form: 'full' });
    expect(prompt).not.toContain('search');
    expect(prompt).toContain('<answer>');
  });

  it('refuses an unknown name', () => {
    expect(() => buildPrompt('other' as 'r1', 'q', { form: 'short' })).toThrow('but got other');
  });
});

describe('askedQuestion', () => {
  it('adds a question mark where there is none', () => {
    expect(askedQuestion(' who is he ')).toBe('who is he?');
    expect(askedQuestion('who is he?')).toBe('who is he?');
  });
});
