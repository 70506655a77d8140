import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../lib/random.js';
import { verdictOf } from '../../../lib/mini-wiki/warm-up/demonstrations.js';
import { createNameMaker, nameParts } from '../../../lib/mini-wiki/warm-up/names.js';
import { inventedNumber, renameQuestion } from '../../../lib/mini-wiki/warm-up/renaming.js';
import { COMPARISON, HYBRID, PASSAGES, QUESTIONS, SEQUENTIAL, TOKENIZER } from '../../training/tiny.js';

const MAKER = createNameMaker(nameParts(QUESTIONS, PASSAGES, TOKENIZER), 0);
const rename = (question = COMPARISON, seed: number | string = 1) =>
  renameQuestion(question, MAKER, createRandom(seed));
const SEEDS = Array.from({ length: 50 }, (_, i) => i);

describe('renameQuestion', () => {
  it('replaces every entity in question, graph and passages', () => {
    for (const original of QUESTIONS) {
      const { question, renamePassage } = rename(original);
      const entities = original.metadata.graph!.map(({ entity }) => entity);
      const texts = [
        question.question,
        ...question.metadata.graph!.flatMap((node) => [
          node.question,
          node.entity,
          node.query,
          ...node.answers,
        ]),
        ...question.goldenAnswers,
        ...PASSAGES.map((passage) => renamePassage(passage).contents),
      ];
      for (const entity of entities) for (const text of texts) expect(text).not.toContain(entity);
    }
  });

  it('gives a passage the names and numbers of the question', () => {
    for (const seed of SEEDS) {
      const { question, renamePassage } = rename(COMPARISON, seed);
      question.metadata.graph!.forEach((node, i) => {
        const { title, text, contents } = renamePassage(PASSAGES[i]);
        expect(title).toBe(node.entity);
        expect(text).toBe(`${node.entity} is a singer born in ${node.answers[0]}.`);
        expect(contents).toBe(`${title}\n${text}`);
        expect(question.question).toContain(node.entity);
      });
    }
  });

  it('compares the new numbers, so that the answer follows from what is read', () => {
    const winners = new Set<number>();
    for (const seed of SEEDS) {
      const { graph, operation } = rename(COMPARISON, seed).question.metadata;
      const years = graph!.map(({ answers }) => Number(answers[0]));
      const first = years.indexOf(Math.min(...years));
      expect(new Set(years).size).toBe(3);
      expect(rename(COMPARISON, seed).question.goldenAnswers).toEqual([graph![first].entity]);
      expect(verdictOf(graph!, operation).answer).toBe(graph![first].entity);
      winners.add(first);
    }
    expect(winners).toEqual(new Set([0, 1, 2]));
  });

  it('keeps the links of a chain: the answer of one hop is the entity of the next', () => {
    for (const seed of SEEDS) {
      const [first, second] = rename(SEQUENTIAL, seed).question.metadata.graph!;
      expect(first.answers[0]).toBe(second.entity);
      expect(rename(SEQUENTIAL, seed).question.goldenAnswers).toEqual(second.answers);
      const [film, , otherFilm, otherYear] = rename(HYBRID, seed).question.metadata.graph!;
      expect(otherYear.entity).toBe(otherFilm.answers[0]);
      expect([film.entity, otherFilm.entity]).toContain(rename(HYBRID, seed).question.goldenAnswers[0]);
    }
  });

  it('gives different entities different names, with which a comparison has one answer', () => {
    for (const seed of Array.from({ length: 400 }, (_, i) => i)) {
      const entities = rename(HYBRID, seed).question.metadata.graph!.map(({ entity }) => entity);
      expect(new Set(entities).size, `seed ${seed}: ${entities.join(', ')}`).toBe(4);
    }
  });

  it('gives answers that are names new ones too, most of the time, and the passage says them', () => {
    const [asked] = SEQUENTIAL.metadata.graph!;
    const single = { ...SEQUENTIAL, goldenAnswers: asked.answers, metadata: { graph: [asked] } };
    const fresh = SEEDS.map((seed) => {
      const { question, renamePassage } = rename(single, seed);
      const answer = question.metadata.graph![0].answers[0];
      expect(question.goldenAnswers).toEqual([answer]);
      expect(renamePassage(PASSAGES[3]).text).toContain(`directed by ${answer}.`);
      return answer !== 'Bo Reed';
    });
    expect(fresh.filter(Boolean).length).toBeGreaterThan(15);
    expect(fresh.filter(Boolean).length).toBeLessThan(45);
  });

  it('leaves the original and other passages as they are', () => {
    const before = structuredClone({ QUESTIONS, PASSAGES });
    for (const question of QUESTIONS) {
      const { renamePassage } = rename(question);
      expect(renamePassage(PASSAGES[5])).toEqual(PASSAGES[5]);
    }
    expect({ QUESTIONS, PASSAGES }).toEqual(before);
  });

  it('replaces whole words only', () => {
    const { renamePassage } = rename();
    const text = 'The Bo Reeds met in 19045 and in 1904s.';
    expect(renamePassage({ id: 'x', title: 'Bo Reedson', text, contents: '' })).toMatchObject({
      title: 'Bo Reedson',
      text,
    });
  });

  it('is the same for the same seed', () => {
    expect(rename(HYBRID, 'a').question).toEqual(rename(HYBRID, 'a').question);
    expect(rename(HYBRID, 'a').question).not.toEqual(rename(HYBRID, 'b').question);
  });
});

describe('inventedNumber', () => {
  it('gives a year for a year, and as many digits as there were', () => {
    const random = createRandom('numbers');
    for (let i = 0; i < 200; i++) {
      const year = Number(inventedNumber('1904', random));
      expect(year >= 1850 && year <= 2015).toBe(true);
      expect(inventedNumber('7', random)).toMatch(/^[1-9]$/);
      expect(inventedNumber('731', random)).toMatch(/^[1-9]\d\d$/);
    }
  });
});
