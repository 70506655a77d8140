import { describe, expect, it } from 'vitest';
import { createPassages } from '../../../lib/data/passage.js';
import { questionType } from '../../../lib/data/question.js';
import { createRandom } from '../../../lib/random.js';
import { makeQuestions } from '../../../tools/reader/made-questions.js';

const PASSAGES = createPassages({
  'Ann Lee (director)': 'Ann Lee (born 3 June 1911) is an American film director.',
  'Bo Kim': 'Bo Kim (May 12, 1908 – 4 July 1990) was a Korean poet.',
  'Cy Day': 'Cy Day (1 May 1950 – 2 May 2001) was an American singer.',
  'Red Hill': 'Red Hill is a 1948 American western film directed by Ann Lee and starring Cy Day.',
  'Blue Bay (1994 film)': 'Blue Bay is a 1994 French drama film directed by Max Roy.',
  'A River': 'The river was named by Bo Kim (born 1 January 1800).',
});
const ask = (numbers: Parameters<typeof makeQuestions>[1], seed: string) =>
  makeQuestions(PASSAGES, numbers, createRandom(seed));

describe('makeQuestions', () => {
  it('compares subjects by facts in their passages', () => {
    for (const seed of ['a', 'b', 'c'])
      for (const question of ask({ comparisons: 30, chains: 0, singleHop: 0 }, seed)) {
        expect(questionType(question)).toBe('parallelizable');
        const [a, b] = question.metadata.graph!;
        const [first, second] = [a, b].map(({ answers }) => answers[0]);
        expect(a.evidence).not.toEqual(b.evidence);
        if (a.attribute === 'country of citizenship') {
          expect(question.goldenAnswers).toEqual([first === second ? 'yes' : 'no']);
          continue;
        }
        const asksForEarlier = /first|earlier|older/.test(question.question);
        const isFirstEarlier = Date.parse(first) < Date.parse(second);
        expect(question.goldenAnswers).toEqual([
          (isFirstEarlier === asksForEarlier ? a : b).entity,
        ]);
      }
  });

  it('chains a film to its director', () => {
    for (const { goldenAnswers, metadata } of ask(
      { comparisons: 0, chains: 10, singleHop: 0 },
      'd',
    )) {
      const [film, director] = metadata.graph!;
      expect([film.entity, film.answers[0], director.entity]).toEqual([
        'Red Hill',
        'Ann Lee',
        'Ann Lee',
      ]);
      expect(director.dependsOn).toEqual(['q1']);
      expect(['3 June 1911', 'American']).toContain(goldenAnswers[0]);
    }
  });

  it('looks up facts, but not in a passage about another subject', () => {
    const questions = ask({ comparisons: 0, chains: 0, singleHop: 60 }, 'e');
    const facts = new Set(questions.map(({ goldenAnswers }) => goldenAnswers[0]));
    expect(facts).toContain('Max Roy');
    expect(facts).toContain('4 July 1990');
    expect(facts).not.toContain('1 January 1800');
  });
});
