import { existsSync, readFileSync } from 'node:fs';
import { rollup, sum } from 'd3-array';
import { describe, expect, it } from 'vitest';
import {
  formatPassages,
  formatQuestions,
  parsePassages,
  parseQuestions,
} from '../../../lib/data/flashrag.js';
import { finalNodes } from '../../../lib/data/search-plan.js';
import { makeMiniWiki, MINI_WIKI_SEED } from '../../../lib/mini-wiki/builder/build.js';
import { computeCard, namedEntities } from '../../../lib/mini-wiki/builder/card.js';
import { normaliseName, phrasesOf } from '../../../lib/mini-wiki/builder/names.js';
import { readSources } from '../../../lib/mini-wiki/builder/sources.js';
import { createBm25Retriever } from '../../../lib/retrieval/bm25.js';
import { graphDepth, questionShape, type Question } from '../../../lib/data/question.js';

const read = (name: string): string => readFileSync(`data/mini-wiki/${name}`, 'utf8');
const passages = parsePassages(read('passages.jsonl'));
const questions = parseQuestions(read('questions.jsonl'));
const bySplit = (split: string): Question[] => questions.filter((question) => question.split === split);
const passageOf = new Map(passages.map((passage) => [passage.id, passage]));
const graphOf = ({ metadata }: Question): NonNullable<Question['metadata']['graph']> => metadata.graph ?? [];
const isComparison = ({ metadata }: Question): boolean => metadata.type === 'comparison';

/** How many items have each key. */
const countOf = <T>(items: readonly T[], keyOf: (item: T) => string): Record<string, number> =>
  Object.fromEntries(rollup(items, (some) => some.length, keyOf));

/** The answer that the last sub-questions of a comparison give; undefined for a tie. */
function aggregate(question: Question): string | undefined {
  const values = finalNodes(graphOf(question)).map(({ answers }) => answers[0]);
  const kind = question.metadata.operation?.kind;
  if (kind === 'same') return new Set(values).size === 1 ? 'yes' : 'no';
  const numbers = values.map((value) => Number.parseInt(value, 10));
  const best = kind === 'argmin' ? Math.min(...numbers) : Math.max(...numbers);
  const isTie = numbers.filter((number) => number === best).length > 1;
  return isTie ? undefined : namedEntities(question)[numbers.indexOf(best)];
}

describe('passages', () => {
  it('number 4,000 or more, of at most 100 words, with unique titles', () => {
    expect(passages.length).toBeGreaterThanOrEqual(4000);
    expect(Math.max(...passages.map(({ contents }) => contents.split(/\s+/).length))).toBeLessThanOrEqual(
      100,
    );
    expect(new Set(passages.map(({ title }) => normaliseName(title))).size).toBe(passages.length);
  });

  it('are plain ASCII and hold nothing that the tag grammar would read', () => {
    const strange = passages.filter(
      ({ contents }) => !/^[\x20-\x7e\n]+$/.test(contents) || /[<>]|##|undefined/.test(contents),
    );
    expect(strange).toEqual([]);
  });

  it('hold names that several entities share in part', () => {
    const lastWords = Object.values(countOf(passages, ({ title }) => title.split(' ').at(-1) ?? ''));
    expect(lastWords.filter((count) => count >= 3).length).toBeGreaterThan(100);
  });
});

describe('questions', () => {
  it('number 4,000 or more for training, 300 or more for development', () => {
    expect(bySplit('train').length).toBeGreaterThanOrEqual(4000);
    expect(bySplit('dev').length).toBeGreaterThanOrEqual(300);
    expect(new Set(questions.map(({ question }) => question)).size).toBe(questions.length);
  });

  it('have 150 or more test questions of each benchmark', () => {
    const counts = countOf(bySplit('test'), ({ metadata }) => metadata.benchmark ?? '');
    const names = ['2wikimultihopqa', 'bamboogle', 'hotpotqa', 'musique', 'nq', 'popqa', 'triviaqa'];
    expect(Object.keys(counts).sort()).toEqual(names);
    expect(Math.min(...Object.values(counts))).toBeGreaterThanOrEqual(150);
  });

  it('have 300 or more test comparisons of each number of entities, a third or more with three or more', () => {
    const counts = countOf(bySplit('test').filter(isComparison), (question) =>
      String(graphOf(question).length),
    );
    expect(Object.keys(counts)).toEqual(['2', '3', '4', '5']);
    expect(Math.min(...Object.values(counts))).toBeGreaterThanOrEqual(300);
    for (const split of ['train', 'dev', 'test']) {
      const comparisons = bySplit(split).filter(isComparison);
      const large = comparisons.filter((question) => graphOf(question).length >= 3);
      expect(large.length / comparisons.length).toBeGreaterThan(1 / 3);
    }
  });

  it("have the shape that their benchmark's type stands for", () => {
    const shapes = { single_hop: 'single_hop', comparison: 'parallelizable', bridge_comparison: 'hybrid' };
    const odd = questions.filter((question) => {
      const type = question.metadata.type ?? '';
      return questionShape(graphOf(question)) !== (shapes[type as keyof typeof shapes] ?? 'sequential');
    });
    expect(odd).toEqual([]);
  });

  it('can be answered within four sequential searches, apart from comparisons of five', () => {
    expect(questions.every((question) => graphDepth(graphOf(question)) <= 4)).toBe(true);
  });
});

describe('dependency graphs', () => {
  it('have evidence that states the answer under the title of the entity', () => {
    const wrong = questions.flatMap(graphOf).filter(({ entity, answers, evidence }) =>
      evidence.some((id) => {
        const passage = passageOf.get(id);
        return passage?.title !== entity || !answers.some((answer) => passage.text.includes(answer));
      }),
    );
    expect(wrong).toEqual([]);
    expect(questions.flatMap(graphOf).filter(({ evidence }) => evidence.length === 0)).toEqual([]);
  });

  it('lead from each answer to the next entity, and the last answer is gold', () => {
    const broken = questions.filter((question) => {
      const nodes = new Map(graphOf(question).map((node) => [node.id, node]));
      const isLinked = [...nodes.values()].every(({ entity, dependsOn }) =>
        dependsOn.every((id) => nodes.get(id)?.answers.includes(entity)),
      );
      const last = graphOf(question).at(-1)?.answers;
      return !isLinked || (!question.metadata.operation && String(last) !== String(question.goldenAnswers));
    });
    expect(broken).toEqual([]);
  });

  it('give the gold answer of every comparison', () => {
    const compared = questions.filter(({ metadata }) => metadata.operation);
    expect(compared.length).toBeGreaterThan(3000);
    expect(compared.filter((question) => aggregate(question) !== question.goldenAnswers[0])).toEqual([]);
  });

  it('name entities that the question names, and no later ones', () => {
    const wrong = questions.filter(({ question, metadata }) => {
      const phrases = phrasesOf(question, 8);
      return (metadata.graph ?? []).some(
        ({ entity, dependsOn }) => phrases.has(normaliseName(entity)) !== (dependsOn.length === 0),
      );
    });
    expect(wrong).toEqual([]);
  });

  it('have queries that BM25 answers with the evidence at rank 1 or 2', () => {
    const bm25 = createBm25Retriever(passages);
    const wanted = new Map(questions.flatMap(graphOf).map(({ query, evidence }) => [query, evidence[0]]));
    const found = [...wanted].filter(([query, id]) =>
      bm25.search(query, 2).some(({ index }) => passages[index].id === id),
    );
    expect(found.length / wanted.size).toBeGreaterThanOrEqual(0.98);
  });
});

describe('splits', () => {
  const names = (split: string): Set<string> =>
    new Set(bySplit(split).flatMap(namedEntities).map(normaliseName));

  it.each([
    ['train', 'test'],
    ['train', 'dev'],
    ['dev', 'test'],
  ])('%s questions name no entity of %s questions, in whole or within another name', (one, other) => {
    const shared = (text: string, other: string): Question[] => {
      const named = names(other);
      return bySplit(text).filter(({ question }) =>
        [...phrasesOf(question)].some((phrase) => named.has(phrase)),
      );
    };
    expect(shared(one, other)).toEqual([]);
    expect(shared(other, one)).toEqual([]);
  });

  it('share no bridge entity', () => {
    const bridges = (split: string): string[] => bySplit(split).flatMap(graphOf).map(({ entity }) => entity); // prettier-ignore
    const test = new Set(bridges('test'));
    expect(bridges('train').filter((entity) => test.has(entity))).toEqual([]);
  });

  it('have test comparisons of a year over more than 1,000 entities', () => {
    expect(computeCard(passages, questions).testEntitiesComparedByYear).toBeGreaterThan(1000);
  });
});

describe('balance', () => {
  const ordered = questions.filter(
    (question) => isComparison(question) && question.metadata.operation?.kind !== 'same',
  );

  it.each([2, 3, 4, 5])('of %i entities each place holds the answer equally often in test', (size) => {
    const some = ordered.filter((question) => question.split === 'test' && graphOf(question).length === size);
    const places = Object.values(countOf(some, (question) => String(namedEntities(question).indexOf(question.goldenAnswers[0])))); // prettier-ignore
    expect(places.length).toBe(size);
    expect(Math.max(...places) - Math.min(...places)).toBeLessThanOrEqual(2);
  });

  it.each(['train', 'dev', 'test'])('first and last are asked for equally often in %s', (split) => {
    const kinds = countOf(ordered.filter((question) => question.split === split), ({ metadata }) => metadata.operation?.kind ?? ''); // prettier-ignore
    expect(Math.abs(kinds.argmin - kinds.argmax)).toBeLessThanOrEqual(8);
  });

  it('yes and no are equal in number for each template, split and number of entities', () => {
    const same = questions.filter(
      (question) => isComparison(question) && question.metadata.operation?.kind === 'same',
    );
    const surplus = rollup(
      same,
      (some) => sum(some, ({ goldenAnswers }) => (goldenAnswers[0] === 'yes' ? 1 : -1)),
      (question) => `${question.metadata.template} ${question.split} ${graphOf(question).length}`,
    );
    expect([...surplus].filter(([, count]) => count !== 0)).toEqual([]);
    expect(same.filter(({ split }) => split === 'test').length).toBeGreaterThanOrEqual(300);
  });

  it('a guess by template is weak in test wherever the answer is not yes or no or one of the named entities', () => {
    const { guess } = computeCard(passages, questions);
    const open = Object.entries(guess.templates).filter(([template]) => !/^(same|arg)/.test(template));
    expect(open.filter(([, row]) => row.guess >= 0.17)).toEqual([]);
    expect(guess.test).toBeLessThan(0.25);
  });
});

describe('data card', () => {
  it('agrees with the files', () => {
    expect(JSON.parse(read('card.json'))).toEqual(computeCard(passages, questions));
  });
});

const sourcesFolder = 'data/mini-wiki/sources';
const installed = existsSync(`${sourcesFolder}/node_modules/vega-datasets`);

describe.skipIf(!installed)(`makeMiniWiki (needs npm ci --ignore-scripts --prefix ${sourcesFolder})`, () => {
  it('gives the same files again', () => {
    const { passages, questions } = makeMiniWiki(readSources(sourcesFolder), MINI_WIKI_SEED);
    expect(formatPassages(passages) === read('passages.jsonl')).toBe(true);
    expect(formatQuestions(questions) === read('questions.jsonl')).toBe(true);
  });
});
