import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPassages } from '../../lib/data/passage.js';
import { findAnswerRanks, findStatedAnswers, retrievalRecall } from '../../lib/retrieval/recall.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import { createRetriever } from '../../lib/retrieval/retrievers.js';
import { normalizeAnswer } from '../../lib/text/answer-match.js';
import { FILMS } from './passages.js';

/** Always answers with FILMS in order. */
const inOrder: Retriever = {
  name: 'in order',
  retrieve: async (queries, { topK }) =>
    queries.map(() => FILMS.slice(0, topK).map((passage) => ({ passage, score: 1 }))),
};

describe('retrievalRecall', () => {
  it('averages the share of evidence in the top k', async () => {
    const queries = [
      { query: 'a', evidence: ['p0', 'p2'] }, // k = 1: 1/2, k = 3: 2/2
      { query: 'b', evidence: ['p3'] }, // k = 1: 0, k = 3: 0
    ];
    expect(await retrievalRecall(inOrder, queries, [1, 3])).toEqual([
      { k: 1, recall: 0.25, hitRate: 0.5 },
      { k: 3, recall: 0.5, hitRate: 0.5 },
    ]);
  });
  it('rejects queries without evidence, an empty list and k = 0', async () => {
    await expect(retrievalRecall(inOrder, [{ query: 'a', evidence: [] }], [1])).rejects.toThrow(
      'evidence',
    );
    await expect(retrievalRecall(inOrder, [], [1])).rejects.toThrow('query');
    await expect(retrievalRecall(inOrder, [{ query: 'a', evidence: ['p0'] }], [0])).rejects.toThrow(
      /k .*got 0/,
    );
  });
});

const passages = createPassages({
  'Red River': 'Red River is a film by Howard Hawks (1948).',
  'Howard Hawks': 'He was born on May 30, 1896.',
  Blue: 'A colour.',
});
const ask = (question: string, ...goldenAnswers: string[]) => ({ question, goldenAnswers });

describe('findStatedAnswers', () => {
  it.each([
    ['the Howard Hawks', true],
    ['May 30 1896', true],
    ['red river', true],
    ['Red Rive', false],
    ['iver is', false],
    ['Hawks Howard', false],
    ['colour', true],
    ['1948', true],
    ['The', false],
    ['no', false],
  ])('looks for %s as whole normalised words: %s', async (answer, expected) => {
    await expect(findStatedAnswers([ask('', answer)], passages)).resolves.toEqual([expected]);
  });

  it('accepts any of several answers', async () => {
    const questions = [ask('', 'x', 'Hawks'), ask('', 'x'), ask('')];
    expect(await findStatedAnswers(questions, passages)).toEqual([true, false, false]);
  });

  it('equals a search for each answer in each passage', async () => {
    const words = fc.array(fc.constantFrom('a', 'b', 'B', 'c,', 'the'), { maxLength: 4 });
    const text = words.map((parts) => parts.join(' '));
    const texts = fc.array(text, { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(texts, texts, async (answers, contents) => {
        const expected = answers.map((answer) => {
          const inner = normalizeAnswer(answer);
          const isIn = (text: string) => ` ${normalizeAnswer(text)} `.includes(` ${inner} `);
          return inner !== '' && contents.some(isIn);
        });
        const questions = answers.map((answer) => ask('', answer));
        const texts = contents.map((text) => ({ contents: text }));
        expect(await findStatedAnswers(questions, texts)).toEqual(expected);
      }),
    );
  });
});

it('findAnswerRanks gives the rank of the first passage with an answer', async () => {
  const retriever = await createRetriever('bm25', passages);
  const questions = [
    ask('Who made Red River?', 'Howard Hawks'),
    ask('When was the director of Red River born, Hawks?', '1896'),
    ask('Red River', 'Paris'),
    ...Array.from({ length: 100 }, () => ask('Blue', 'colour')),
  ];
  const batches: number[] = [];
  const onBatch = (done: number) => batches.push(done);
  const ranks = await findAnswerRanks(retriever, questions, { topK: 2, onBatch });
  expect(ranks).toEqual([1, 2, Infinity, ...Array<number>(100).fill(1)]);
  expect(batches.at(-1)).toBe(103);
  expect(await findAnswerRanks(retriever, questions.slice(1, 2), { topK: 1 })).toEqual([Infinity]);
});
