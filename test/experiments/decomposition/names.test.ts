import { describe, expect, it } from 'vitest';
import { matching } from '../../../lib/evaluation/table.js';
import {
  countNames,
  isInGroup,
  NAME_GROUPS,
  nameMeasures,
  nameReader,
  omissionMeasures,
} from '../../../lib/experiments/decomposition/names.js';
import type { Tokenizer } from '../../../lib/text/tokenizer.js';
import { COMPARISON, QUESTIONS } from '../../training/tiny.js';
import { result } from '../synthetic.js';

/** A token a letter, so that rarity and length can be counted by hand. */
const LETTERS: Tokenizer = {
  encode: (text) => Array.from(text, (letter) => letter.codePointAt(0)!),
  decode: (ids) => String.fromCodePoint(...ids),
  tokenId: (token) => token.codePointAt(0),
  vocabSize: 0x110000,
};

describe('NAME_GROUPS', () => {
  it('hold every name once by rarity and once by length', () => {
    for (const length of [1, 3, 4, 5, 6, 8, 9, 40]) {
      for (const rarest of [0, 1, 4, 5, 19, 20, 1000]) {
        const suffixes = NAME_GROUPS.filter((nameGroup) => isInGroup({ length, rarest }, nameGroup)).map(
          (g) => g.suffix,
        );
        expect(suffixes.map((s) => s.split('_')[0])).toEqual(['rarest', 'tokens']);
      }
    }
  });
});

// Asked for: Ada Stone, Bo Reed, Cy Hill. The letters of "Cy" are in one training question, those of "Bo Reed" in five.
const train = ['Cy Hill', ...Array.from({ length: 5 }, () => 'Bo Reed')];
const asked = { ...COMPARISON, split: 'test' };
const questions = [
  asked,
  ...train.map((question, i) => ({ ...QUESTIONS[0], id: `t${i}`, split: 'train', question })),
];
const answer = result({
  questionId: asked.id,
  subset: 'parallelizable',
  searches: [['Ada Stone', 'Bo Reed'], ['Cy Hil']],
});

describe('nameMeasures', () => {
  const measures = nameMeasures(questions, nameReader(questions, LETTERS));
  const figure = (metric: string): number => {
    const [{ of, per }] = matching(measures, { metric });
    return of(answer) / per!(answer);
  };

  it('gives each group the share of its names that a search held whole', () => {
    expect(figure('named_rarest_0')).toBe(1); // Ada Stone: no training question has an A
    expect(figure('named_rarest_1_to_4')).toBe(0); // Cy Hill
    expect(figure('named_rarest_5_to_19')).toBe(1); // Bo Reed
    expect(figure('named_rarest_20_up')).toBeNaN();
    expect(figure('named_tokens_6_to_8')).toBe(1 / 2); // " Bo Reed" and " Cy Hill" have 8 letters
    expect(figure('named_tokens_9_up')).toBe(1);
  });

  it('gives the share of names that each group has', () => {
    const shares = NAME_GROUPS.map(({ suffix }) => figure(`names_${suffix}`));
    expect(shares).toEqual([1 / 3, 1 / 3, 1 / 3, 0, 0, 0, 2 / 3, 1 / 3]);
  });

  it('counts only training questions', () => {
    const untrained = questions.map((question) => ({ ...question, split: 'test' }));
    const none = nameMeasures(questions, nameReader(untrained, LETTERS));
    expect(matching(none, { metric: 'names_rarest_0' })[0].of(answer)).toBe(3);
  });
});

describe('countNames', () => {
  it('counts over the answers to parallelizable questions how often each name was left out', () => {
    const other = { ...answer, seed: 2, searches: [['Cy Hill']] };
    const sequential = { ...answer, subset: 'sequential' as const };
    expect(countNames([answer, other, sequential], questions, nameReader(questions, LETTERS))).toEqual([
      { name: 'Ada Stone', length: 10, rarest: 0, answers: 2, missed: 1 },
      { name: 'Bo Reed', length: 8, rarest: 5, answers: 2, missed: 1 },
      { name: 'Cy Hill', length: 8, rarest: 1, answers: 2, missed: 1 },
    ]);
    expect(countNames([answer], questions, nameReader(questions, LETTERS))[0]).toMatchObject({
      name: 'Cy Hill',
      missed: 1,
    });
  });
});

describe('omissionMeasures', () => {
  it('are shares of what was left out, which is nothing in some answers', () => {
    const measures = omissionMeasures(questions);
    const sums = (one: typeof answer): number[][] => measures.map(({ of, per }) => [of(one), per!(one)]);
    expect(measures.map(({ metric }) => metric)).toEqual(
      ['misnamed', 'repeated', 'no_search', 'overlooked'].map((reason) => `omitted_${reason}`),
    );
    expect(sums(answer)).toEqual([
      [1, 1],
      [0, 1],
      [0, 1],
      [0, 1],
    ]);
    expect(sums({ ...answer, searches: [['Ada Stone', 'Bo Reed', 'Cy Hill']] })).toEqual(
      Array(4).fill([0, 0]),
    );
  });
});
