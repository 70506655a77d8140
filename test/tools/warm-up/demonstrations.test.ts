import { range } from 'd3-array';
import { describe, expect, it } from 'vitest';
import type { Passage } from '../../../lib/data/passage.js';
import { graphQuestionType, type Question, type SubQuestion } from '../../../lib/data/question.js';
import { createRandom } from '../../../lib/random.js';
import { createBm25Retriever } from '../../../lib/retrieval/bm25.js';
import { exactMatch } from '../../../lib/text/answer-match.js';
import {
  executedSearches,
  finalAnswer,
  formatFault,
  type TextSegment,
} from '../../../lib/text/response.js';
import { parseBlocks } from '../../../lib/text/tags.js';
import { createQuestionMaker } from '../../../tools/small-world/questions.js';
import { makeWorld } from '../../../tools/small-world/world.js';
import {
  demonstrate,
  verdictDrill,
  type DemonstrationOptions,
} from '../../../tools/warm-up/demonstrations.js';

const random = createRandom('demonstrations');
const { things, passages } = makeWorld(random, { train: 30 });
const make = createQuestionMaker(things);
const retriever = createBm25Retriever(passages);
const search = (query: string): Passage[] =>
  retriever.search(query, 3).map(({ index }) => passages[index]);
const evidence = (_: string, node: SubQuestion): Passage[] =>
  passages.filter(({ id }) => node.evidence.includes(id));

const draws = [1, 2, 3, 4].map((length) => () => make.chain(length, 'train', random));
const comparisons = [2, 3, 5].map((count) => () => make.ordered(count, 1, 'train', random));
const others = [() => make.ordered(2, 2, 'train', random)];
const questions = range(12).flatMap(() =>
  [...draws, ...comparisons, ...others].map((draw): Question => ({ id: 'q', ...draw() })),
);

const OPTIONS: DemonstrationOptions = {
  prompt: 'parallel',
  mode: 'sequential',
  maxSearchTurns: 6,
  retryShare: 0.5,
  contextWeight: 0.25,
  recapWeight: 3,
};
/** The segments of a demonstration. */
const transcript = (
  question: Question,
  changes: Partial<DemonstrationOptions>,
  found: Parameters<typeof demonstrate>[1] = search,
): TextSegment[] =>
  demonstrate(question, found, { ...OPTIONS, ...changes }, random).map(({ text, weight }, i) => ({
    kind: i === 0 ? 'prompt' : weight === OPTIONS.contextWeight ? 'information' : 'policy',
    text,
  }));
const textOf = (segments: readonly TextSegment[], wanted: string): string =>
  segments.map(({ kind, text }) => (kind === wanted ? text : '')).join('');

describe('demonstrate', () => {
  it.each(['sequential', 'parallel'] as const)('writes well-formed %s transcripts', (mode) => {
    for (const question of questions) {
      const segments = transcript(question, { mode });
      expect(formatFault(segments)).toBeNull();
      const searches = executedSearches(segments);
      expect(searches.length).toBeLessThanOrEqual(OPTIONS.maxSearchTurns);
      if (mode === 'sequential')
        expect(searches.every((queries) => queries.length === 1)).toBe(true);
      else if (graphQuestionType(question.metadata.graph!) === 'parallelizable')
        expect(searches[0]).toHaveLength(question.metadata.graph!.length);
    }
  });

  it('gives the right answer to every question if everything is found', () => {
    for (const question of questions)
      for (const mode of ['sequential', 'parallel'] as const) {
        const answer = finalAnswer(transcript(question, { mode, maxSearchTurns: 8 }, evidence));
        expect(exactMatch(answer, question.goldenAnswers)).toBe(1);
      }
  });

  it('only states values that it read, and uses every one', () => {
    let misses = 0;
    for (const question of questions) {
      const segments = transcript(question, { mode: 'parallel' });
      const read = textOf(segments, 'information');
      const thoughts = parseBlocks(textOf(segments, 'policy')).flatMap(({ tag, body }) =>
        tag === 'think' ? [body] : [],
      );
      misses += Number(thoughts.at(-1)!.includes('= unknown'));
      for (const { answers, entity, evidence: ids } of question.metadata.graph!) {
        const isRead = ids.some((id) =>
          read.includes(passages.find((passage) => passage.id === id)!.text),
        );
        const said = thoughts.some((thought) => thought.includes(`${entity} = ${answers[0]}`));
        if (said) expect(isRead).toBe(true);
      }
    }
    // Searches must miss in this world, or there is nothing to learn.
    expect(misses).toBeGreaterThan(questions.length / 8);
    expect(misses).toBeLessThan(questions.length);
  });

  it('names everything in one query and answers from the results in compound mode', () => {
    const right = questions.map((question) => {
      const graph = question.metadata.graph!;
      const segments = transcript(question, { mode: 'compound' });
      expect(formatFault(segments)).toBeNull();
      const [[query, ...others], ...later] = executedSearches(segments);
      expect([others, later]).toEqual([[], []]);
      for (const { entity, dependsOn } of graph)
        if (dependsOn.length === 0) expect(query).toContain(entity);
      const ids = new Set(search(query).map(({ id }) => id));
      const isFound = graph.every(({ evidence }) => evidence.some((id) => ids.has(id)));
      const em = exactMatch(finalAnswer(segments), question.goldenAnswers);
      if (isFound) expect(em).toBe(1);
      return em;
    });
    // Some need more than one search.
    expect(right).toContain(0);
    expect(right).toContain(1);
  });

  it('searches again after a miss with different words, at most once', () => {
    const single = questions.filter(({ metadata }) => metadata.graph!.length === 1);
    const turnsOf = (retryShare: number): number[] =>
      single.map((one) => executedSearches(transcript(one, { retryShare }, () => [])).length);
    expect(turnsOf(1).every((turns) => turns === 2)).toBe(true);
    expect(turnsOf(0).every((turns) => turns === 1)).toBe(true);
  });
});

describe('verdictDrill', () => {
  it('only trains the conclusion and the answer', () => {
    for (const question of questions.filter(({ metadata }) => metadata.operation)) {
      const pieces = verdictDrill(question, { prompt: 'drill', contextWeight: 0, recapWeight: 3 });
      expect(pieces.map(({ weight }) => weight)).toEqual([0, 0, 3, 1]);
      expect(pieces[3].text).toBe(`<answer> ${question.goldenAnswers[0]} </answer>`);
    }
  });
});
