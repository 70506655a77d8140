import { describe, expect, it } from 'vitest';
import { splitTitle, splitWords } from '../../lib/retrieval/words.js';

describe('splitWords', () => {
  it('lower-cases and splits at everything but letters and digits', () => {
    expect(splitWords('Spider-Man 2: (2004), e.g.')).toEqual(['spider', 'man', '2', '2004', 'e', 'g']);
  });
  it('folds accents and compatibility forms', () => {
    expect(splitWords('Amélie ＡＢＣ Škoda')).toEqual(['amelie', 'abc', 'skoda']);
  });
  it('drops the possessive and joins other apostrophes', () => {
    expect(splitWords("Nolan's O'Brien d’Arc the Joneses' 's")).toEqual([
      'nolan',
      'obrien',
      'darc',
      'the',
      'joneses',
      's',
    ]);
  });
  it('keeps letters of every script', () => {
    expect(splitWords('東京 Москва')).toEqual(['東京', 'москва']);
  });
  it('gives no words for no letters', () => {
    expect(splitWords(' ?! ')).toEqual([]);
  });
});

describe('splitTitle', () => {
  it('cuts at the first line break only', () => {
    expect(splitTitle('T\na\nb')).toEqual({ title: 'T', text: 'a\nb' });
    expect(splitTitle('T')).toEqual({ title: 'T', text: '' });
  });
});
