import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  stateAnswer,
  documentsPrompt,
  END_OF_DOCUMENTS,
  parseDocuments,
  formatDocuments,
} from '../../lib/training/zerosearch.js';
import { COMPARISON, SEQUENTIAL } from './tiny.js';

it.each(['short', 'full'] as const)(
  'the prompt has kind, query, question, answer and known facts (%s)',
  (form) => {
    const prompt = documentsPrompt('noisy', 'Red River director', SEQUENTIAL, form);
    for (const part of ['noisy', 'Red River director', SEQUENTIAL.question, '1904'])
      expect(prompt).toContain(part);
    expect(prompt).not.toContain('useful');
    expect(prompt).toMatch(/Red River = Bo Reed; .*: Bo Reed = 1904/);
    const unknown = documentsPrompt(
      'noisy',
      'Red River director',
      { ...SEQUENTIAL, metadata: {} },
      form,
    );
    expect(unknown).not.toContain('Bo Reed');
  },
);

describe('documents', () => {
  const words = fc.stringMatching(/^[A-Z][a-z]{0,8}( [a-z]{1,8}){0,3}$/);
  const passages = fc.array(fc.record({ title: words, text: words }), {
    minLength: 1,
    maxLength: 4,
  });

  it('round-trip, with ids that name their kind', () => {
    fc.assert(
      fc.property(passages, (some) => {
        const printed = formatDocuments(some);
        expect(printed.endsWith(END_OF_DOCUMENTS)).toBe(true);
        const read = parseDocuments(printed, 'noisy', 3);
        expect(read.map(({ title, text }) => ({ title, text }))).toEqual(some.slice(0, 3));
        expect(read.map(({ id }) => id)).toEqual(some.slice(0, 3).map((_, i) => `noisy-${i + 1}`));
      }),
    );
  });

  it('are empty if a text has none', () => {
    for (const text of [
      '',
      'Ada Stone',
      '<information></information>',
      'Retrieval failed: no',
      '</information>',
    ])
      expect(parseDocuments(text, 'useful', 3)).toEqual([]);
  });
});

describe('stateAnswer', () => {
  const saying = (text: string) => [{ title: 'Bo Reed', text }];

  it('is true if documents answer a sub-question about an entity in the query', () => {
    expect(stateAnswer('Bo Reed born', saying('A singer, born in 1904.'), COMPARISON)).toBe(true);
    expect(stateAnswer('Bo Reed born', saying('A singer, born in 1922.'), COMPARISON)).toBe(false);
    expect(stateAnswer('Bo Reed born', saying('A singer, born in 19041.'), COMPARISON)).toBe(false);
    expect(stateAnswer('Bo Reed born', [], COMPARISON)).toBe(false);
  });

  it('is null if the query names no entity, or without a graph', () => {
    expect(stateAnswer('singers', saying('Born in 1904.'), COMPARISON)).toBeNull();
    expect(
      stateAnswer('Bo Reed', saying('Born in 1904.'), { ...COMPARISON, metadata: {} }),
    ).toBeNull();
  });
});
