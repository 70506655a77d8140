import { describe, expect, it } from 'vitest';
import { ANALYZERS, splitTitle, splitWords } from '../../lib/retrieval/words.js';

describe('splitWords', () => {
  it.each([
    [
      'lower-cases, splits at all but letters and digits',
      'Spider-Man 2: (2004), e.g.',
      'spider man 2 2004 e g',
    ],
    ['folds accents and compatibility forms', 'Amélie ＡＢＣ Škoda', 'amelie abc skoda'],
    [
      'drops the possessive',
      "Nolan's O'Brien d’Arc the Joneses' 's",
      'nolan obrien darc the joneses s',
    ],
    ['keeps letters of every script', '東京 Москва', '東京 москва'],
    ['gives no words for no letters', ' ?! ', ''],
  ])('%s', (_, text, words) => expect(splitWords(text).join(' ')).toBe(words));
});

describe('splitTitle', () => {
  it('splits at the first line break only', () => {
    expect(splitTitle('T\na\nb')).toEqual({ title: 'T', text: 'a\nb' });
    expect(splitTitle('T')).toEqual({ title: 'T', text: '' });
  });
});

it('english drops stop words and stems the rest; plain does neither', () => {
  const text = 'The directors of these films were singing, and no film is archaeology.';
  const [plain, english] = ['plain', 'english'].map((name) =>
    ANALYZERS.get(name).analyze(text).join(' '),
  );
  expect(plain).toBe('the directors of these films were singing and no film is archaeology');
  expect(english).toBe('director film were sing film archaeolog');
});
