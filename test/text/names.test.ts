import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findNames, unknownNamesWarning } from '../../lib/text/names.js';

describe('findNames', () => {
  it.each([
    ['Who was born first, Ada Stone or Bo Reed?', ['Ada Stone', 'Bo Reed']],
    ['Ada Stone and Bo Reed: who is older?', ['Ada Stone', 'Bo Reed']],
    ['When did the last king from the House of Hanover die?', ['House of Hanover']],
    ['Who led NASA during Apollo 11?', ['NASA', 'Apollo 11']],
    ['Who shared the Nobel Prize in Physics in 1954?', ['Nobel Prize in Physics']],
    ['Who said "Tear down this wall" in Berlin?', ['Tear down this wall', 'Berlin']],
    ['Where is Washington University in St. Louis?', ['Washington University in St. Louis']],
    ["Who won the 2007 Ballon d'Or?", ["Ballon d'Or"]],
    ["Is Nirvana's album older than Lady Audley's Secret?", ['Nirvana', "Lady Audley's Secret"]],
    ['Which is newer, The Rack (1915 film) or Cantaclaro?', ['The Rack', 'Cantaclaro']],
    ['What is the capital of the U.S. state in Punjab, India?', ['U.S.', 'Punjab', 'India']],
    ['Which American president and Chinese emperor met? The emperor of Japan?', ['Japan']],
    ['Nolan directed what? Where is Paris, in Paris?', ['Paris']],
    ['who played bat masterson in tombstone', []],
    ['Is ...Ada Stone older? Where is Paris... now?', ['Ada Stone', 'Paris']],
    ['Is it in Washington D.C., Oslo or Rome?', ['Washington D.C.', 'Oslo', 'Rome']],
    ['Did Jean-Luc Godard direct it?', ['Jean-Luc Godard']],
    ['Was Ada in " the red room "?', ['Ada', 'the red room']],
    ['Who said "we met in Berlin" there?', ['we met in Berlin']],
    ['Is that The Rack (film) Cantaclaro?', ['The Rack', 'Cantaclaro']],
    ['', []],
  ])('finds in %j %j', (text, names) => {
    expect(findNames(text)).toEqual(names);
  });

  it('returns each name once, and none empty', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const names = findNames(text);
        expect(new Set(names).size).toBe(names.length);
        for (const name of names) expect(name.trim()).not.toBe('');
      }),
    );
  });
});

describe('unknownNamesWarning', () => {
  const passages = ['Red River\nThe film was made by Ann Lee.', 'René Roy\nRené Roy sang.'];

  it.each([
    ['Did Ann Lee make Red River?', []],
    ['Did Rene Roy make RED River?', []],
    ['Who made Titanic?', ['“Titanic”']],
    ['Did Ann Roy?', ['“Ann Roy”']],
    ['Is Ann from Paris or Rome, Paris?', ['“Paris”', '“Rome”']],
  ])('lists names that no passage mentions: %j', (question, names) => {
    expect(unknownNamesWarning(question, passages).match(/“[^”]+”/g) ?? []).toEqual(names);
  });

  it.each(['谁执导了《红河》？', 'أين القاهرة؟', '서울은 어디?', '😀'])(
    'says that no passage has a word of the question: %s',
    (question) => {
      expect(unknownNamesWarning(question, passages)).toMatch(/^No passage has a word/);
      expect(unknownNamesWarning(question, [...passages, `T\n${question}`])).toBe('');
    },
  );

  it('is content with one word of a question without names', () => {
    expect(unknownNamesWarning('who made the film?', passages)).toBe('');
  });
});
