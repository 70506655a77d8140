import { describe, expect, it } from 'vitest';
import {
  listable,
  listed,
  normaliseName,
  phrasesOf,
  plainName,
  transliterate,
} from '../../../lib/mini-wiki/builder/names.js';

describe('names', () => {
  it('are transliterated to ASCII or refused', () => {
    expect(transliterate('Malmö')).toBe('Malmo');
    expect(transliterate('Łódź')).toBe('Lodz');
    expect(transliterate('東京')).toBeNull();
    expect(plainName('Dr. Zhivago')).toBe('Dr. Zhivago');
    expect(plainName('1984')).toBeNull();
    expect(plainName('A B C D Five Words')).toBeNull();
    expect(plainName('Tango & Cash')).toBeNull();
  });

  it('are compared without case, punctuation and apostrophes', () => {
    expect(normaliseName("Schindler's List!")).toBe('schindlers list');
    expect(phrasesOf('Who made Jaws?', 2)).toEqual(new Set(['who', 'who made', 'made', 'made jaws', 'jaws']));
  });

  it('are listed only when the list stays readable', () => {
    expect(listable('Sense and Sensibility')).toBe(false);
    expect(listable('Anderson')).toBe(true);
    expect(listed(['A', 'B', 'C'], 'or')).toBe('A, B or C');
  });
});
