import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../lib/random.js';
import {
  createNameMaker,
  nameParts,
  TOKEN_BREAK,
  type NameParts,
} from '../../../lib/mini-wiki/warm-up/names.js';
import { encodePieces } from '../../../lib/training/supervised.js';
import { PASSAGES, QUESTIONS, TOKENIZER } from '../../training/tiny.js';

const PARTS = nameParts(QUESTIONS, PASSAGES, TOKENIZER);
const PLAIN = createNameMaker(PARTS, 0);
const UNUSUAL = createNameMaker(PARTS, 1);

const times = <T>(count: number, draw: () => T): T[] => Array.from({ length: count }, draw);

describe('nameParts', () => {
  it('takes the words of names from names, and those of questions from what else is asked', () => {
    expect(PARTS.nameWords).toEqual(expect.arrayContaining(['Ada', 'Stone', 'Red', 'River']));
    expect(PARTS.nameWords).not.toContain('When');
    expect(PARTS.questionWords).toEqual(expect.arrayContaining(['When', 'was', 'director', 'first']));
    for (const word of ['or', 'Ada', 'River', 'Reed']) expect(PARTS.questionWords).not.toContain(word);
    expect(PARTS.passageWords).toEqual(expect.arrayContaining(['Tallinn', 'Estonia']));
    expect(PARTS.passageWords).not.toContain('singer');
  });

  it('lists tokens that are encoded as themselves where they stand in a word', () => {
    for (const token of PARTS.first.all) expect(TOKENIZER.encode(` ${token}`)).toHaveLength(1);
    for (const token of PARTS.further.all) expect(TOKENIZER.encode(token)).toHaveLength(1);
    for (const { all, rare } of [PARTS.first, PARTS.further]) {
      expect(rare.length).toBeGreaterThan(0);
      expect(all).toEqual(expect.arrayContaining([...rare]));
    }
  });
});

describe('plain names', () => {
  it('have one to four words that begin with a capital', () => {
    const random = createRandom('names');
    const counts = new Set<number>();
    for (const words of times(300, () => PLAIN.name(random).split(' '))) {
      for (const word of words) expect(word).toMatch(/^\p{Lu}\p{Ll}+$/u);
      counts.add(words.length);
    }
    expect([...counts].sort()).toEqual([1, 2, 3, 4]);
  });

  it('are all different within a question, and words are ordinary ones', () => {
    const random = createRandom('plain');
    for (const names of times(100, () => PLAIN.names(5, random))) expect(new Set(names).size).toBe(5);
    for (const word of times(50, () => PLAIN.word(['one', 'two'], random)))
      expect(['one', 'two']).toContain(word);
  });
});

describe('unusual names', () => {
  const random = createRandom('unusual');
  const names = times(1000, () => UNUSUAL.name(random));

  it('hold words of questions, marks, a word twice, and numbers at the end', () => {
    const share = (pattern: RegExp): number =>
      names.filter((name) => pattern.test(name)).length / names.length;
    expect(share(/\b(When|was|director|first)\b/)).toBeGreaterThan(0.1);
    expect(share(/: /)).toBeGreaterThan(0.005);
    expect(share(/(^| )(\S+) \2( |$)/)).toBeGreaterThan(0.005);
    expect(share(/ \d+$/)).toBeGreaterThan(0.02);
    expect(share(/, |(^| )or( |$)|##/)).toBe(0);
  });

  it('begin alike in some questions, and are all different in all', () => {
    const sets = times(400, () => UNUSUAL.names(3, random));
    for (const set of sets) expect(new Set(set).size).toBe(3);
    const alike = sets.filter((set) => new Set(set.map((name) => name.split(' ')[0])).size < 3).length;
    expect(alike / sets.length).toBeGreaterThan(0.1);
    expect(alike / sets.length).toBeLessThan(0.5);
  });

  it('reach every token of the vocabulary that is letters, which plain ones do not', () => {
    const letters = new Set([
      ...PARTS.first.all.flatMap((token) => TOKENIZER.encode(` ${token}`)),
      ...PARTS.further.all.flatMap((token) => TOKENIZER.encode(token)),
    ]);
    const reached = (draw: () => string): number => {
      const ids = times(4000, draw).flatMap(
        (name) => encodePieces([{ text: ` ${name}`, weight: 1 }], TOKENIZER).tokenIds,
      );
      return new Set(ids.filter((id) => letters.has(id))).size / letters.size;
    };
    expect(reached(() => UNUSUAL.name(random))).toBe(1);
    expect(reached(() => PLAIN.name(random))).toBeLessThan(0.9);
  });

  it('share the given part of all names', () => {
    const parts: NameParts = { ...PARTS, nameWords: ['Plain'] };
    const some = createNameMaker(parts, 0.3);
    // Four in five unusual names of these parts hold a break, a mark, a small letter or a digit, and no plain one does.
    const marked = times(2000, () => some.name(random)).filter((name) => /[^\p{L} ]|(^| )\p{Ll}/u.test(name));
    expect(marked.length / 2000).toBeGreaterThan(0.1);
    expect(marked.length / 2000).toBeLessThan(0.3);
  });
});

describe('TOKEN_BREAK', () => {
  it('parts tokens and leaves no trace in the text', () => {
    const whole = encodePieces([{ text: 'Ada Stone', weight: 1 }], TOKENIZER);
    const parted = encodePieces([{ text: `Ada St${TOKEN_BREAK}one`, weight: 2 }], TOKENIZER);
    expect(TOKENIZER.decode(parted.tokenIds)).toBe('Ada Stone');
    expect(parted.tokenIds).not.toEqual(whole.tokenIds);
    expect(parted.lossWeights).toEqual(parted.tokenIds.map(() => 2));
  });
});
