import { describe, expect, it } from 'vitest';
import { createTokenizer } from '../../../lib/text/tokenizer/tokenizer.js';
import { trainBpe } from '../../../tools/warm-up/tokenizer.js';
import { readFixture } from '../../fixtures/read.js';

interface Fixture {
  settings: { vocab_size: number; min_frequency: number };
  added_tokens: string[];
  training_lines: string[];
  tokenizer_json: { model: { vocab: Record<string, number>; merges: [string, string][] } };
  encodings: { text: string; ids: number[] }[];
}
const fixture = readFixture<Fixture>('bpe.json');

function trained(): Fixture['tokenizer_json'] {
  return trainBpe(fixture.training_lines, {
    vocabSize: fixture.settings.vocab_size,
    minFrequency: fixture.settings.min_frequency,
    // Not special, so that they are recognised in texts, as in the library.
    addedTokens: fixture.added_tokens.map((content) => ({ content, special: false })),
  }) as Fixture['tokenizer_json'];
}

describe('trainBpe', () => {
  it('learns vocabulary and merges of the tokenizers library, in order', () => {
    const { model } = trained();
    expect(model.merges).toEqual(fixture.tokenizer_json.model.merges);
    expect(model.vocab).toEqual(fixture.tokenizer_json.model.vocab);
  });

  it('encodes like the tokenizers library, and decodes to the same text', () => {
    const tokenizer = createTokenizer(trained());
    for (const { text, ids } of fixture.encodings) {
      expect(tokenizer.encode(text), text).toEqual(ids);
      expect(tokenizer.decode(ids), text).toBe(text);
    }
  });

  it('rejects too small a vocabulary and names the minimum', () => {
    expect(() => trainBpe([], { vocabSize: 10, minFrequency: 2, addedTokens: [] })).toThrow(
      'Expected vocabSize to be at least 256, but got 10.',
    );
  });

  const mergesOf = (
    lines: string[],
    minFrequency: number,
    added: string[] = [],
    vocabSize = 300,
  ): unknown =>
    (
      trainBpe(lines, {
        vocabSize,
        minFrequency,
        addedTokens: added.map((content) => ({ content, special: true })),
      }) as Fixture['tokenizer_json']
    ).model.merges;

  it('merges frequent pairs while there are any and the vocabulary has room', () => {
    expect(mergesOf(['ab ab cd'], 2)).toEqual([['a', 'b']]);
    expect(mergesOf(['ab ab cd'], 3)).toEqual([]);
    expect(mergesOf(['ab'], 0)).toEqual([['a', 'b']]);
    expect(mergesOf(['ab ab'], 1, [], 256)).toEqual([]);
    expect(mergesOf(['ab ab'], 1, [], 257)).toEqual([['a', 'b']]);
  });

  it('leaves added tokens out of the words, with any characters', () => {
    const merges = [
      ['x', 'q'],
      ['Ġ', 'xq'],
    ];
    expect(mergesOf(['xq xq [xy]w'], 1, ['[xy]', 'w'])).toEqual(merges);
  });
});
