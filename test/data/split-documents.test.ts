import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutParagraphs, makePassages } from '../../lib/data/split-documents.js';
import { countWords } from '../../lib/text/words.js';

const sentence = (n: number, word = 'word'): string => `W${` ${word}`.repeat(n - 1)}.`;
const paragraph = (...lengths: number[]): string => lengths.map((n) => sentence(n)).join(' ');
const lengths = (texts: readonly string[]): number[] => texts.map(countWords);

describe('cutParagraphs', () => {
  it('keeps paragraphs whole if that roughly gives the target length', () => {
    const paragraphs = [paragraph(30, 30), paragraph(20, 20), paragraph(50, 40)];
    expect(cutParagraphs(paragraphs, 100)).toEqual([
      `${paragraphs[0]}\n${paragraphs[1]}`,
      paragraphs[2],
    ]);
  });

  it('splits a long paragraph between sentences into parts of equal length', () => {
    expect(lengths(cutParagraphs([paragraph(...Array<number>(22).fill(10))], 100))).toEqual([
      110, 110,
    ]);
  });

  it('splits an overlong sentence, and text without spaces', () => {
    expect(lengths(cutParagraphs([sentence(260)], 100))).toEqual([87, 87, 86]);
    expect(lengths(cutParagraphs(['水'.repeat(30)], 10))).toEqual([10, 10, 10]);
    expect(cutParagraphs(['水です。火です。'], 10)).toEqual(['水です。火です。']);
  });

  it('loses no word and never exceeds one and a half times the length', () => {
    const words = fc.lorem({ mode: 'words', maxCount: 60 });
    const texts = fc.array(fc.array(words, { minLength: 1, maxLength: 5 }), { maxLength: 6 });
    fc.assert(
      fc.property(texts, fc.integer({ min: 5, max: 60 }), (sentences, size) => {
        const paragraphs = sentences.map((parts) => `${parts.join('. ')}.`);
        const passages = cutParagraphs(paragraphs, size);
        const split = (parts: readonly string[]): string[] => parts.join(' ').split(/\s+/);
        expect(split(passages)).toEqual(split(paragraphs));
        for (const passage of passages) expect(countWords(passage)).toBeLessThanOrEqual(size * 1.5);
      }),
    );
  });
});

describe('makePassages', () => {
  const titled = (title: string, ...paragraphs: string[]) => ({ title, paragraphs });

  it('uses the id of a row, else one from file and number, and counts those it replaces', () => {
    const { passages, numRenamed } = makePassages(
      [
        {
          name: 'a.md',
          sections: [
            titled('A', sentence(10)),
            titled('B', `${sentence(10)} ${sentence(10, 'other')}`),
          ],
        },
        { name: 'b.csv', sections: [{ ...titled('C', paragraph(9, 11)), id: '7' }] },
        { name: 'c.csv', sections: [{ ...titled('D', 'x'), id: '7' }] },
      ],
      10,
    );
    expect(passages.map(({ id }) => id)).toEqual([
      'a.md#1',
      'a.md#2',
      'a.md#3',
      '7',
      '7#2',
      'c.csv#1',
    ]);
    expect(numRenamed).toBe(1);
    expect(passages[0]).toMatchObject({ title: 'A', contents: `A\n${sentence(10)}` });
  });

  it('gives no id twice, and keeps those of an earlier corpus', () => {
    const row = (id: string, text: string) => ({ ...titled('Row', text), id });
    const made = { name: 'faq.csv', sections: [titled('A', 'First.'), titled('B', 'Second.')] };
    const earlier = { name: 'corpus.jsonl', sections: [row('faq.csv#1', 'Old.')] };
    for (const sources of [
      [made, earlier],
      [earlier, made],
    ])
      expect(
        makePassages(sources, 10)
          .passages.map(({ id, text }) => `${id} ${text}`)
          .toSorted(),
      ).toEqual(['faq.csv#1 Old.', 'faq.csv#2 First.', 'faq.csv#3 Second.']);
  });

  it('drops repeated passages, but keeps the same text under another title', () => {
    const untitled = (name: string) => ({ ...titled(name, 'Same text.'), isUntitled: true });
    const { passages, numDuplicates } = makePassages(
      [
        { name: 'a.txt', sections: [untitled('a')] },
        { name: 'b.txt', sections: [untitled('b')] },
        { name: 'c.md', sections: [titled('C', 'Yes.'), titled('D', 'Yes.'), titled('C', 'YES.')] },
      ],
      100,
    );
    expect(passages.map(({ title }) => title)).toEqual(['a', 'C', 'D']);
    expect(numDuplicates).toBe(2);
  });
});
