import { describe, expect, it } from 'vitest';
import type { Question } from '../../../lib/data/question.js';
import { createBm25Retriever } from '../../../lib/retrieval/bm25.js';
import { buildPrompt } from '../../../lib/text/prompts.js';
import {
  executedSearches,
  finalAnswer,
  formatFault,
  splitTranscript,
  type TextSegment,
} from '../../../lib/text/response.js';
import { parseBlocks } from '../../../lib/text/tags.js';
import {
  copyDrill,
  demonstrate,
  readDrill,
  numericValue,
  verdictDrill,
  verdictOf,
  type DemonstrationOptions,
  type Lookup,
  type Piece,
} from '../../../lib/mini-wiki/warm-up/demonstrations.js';
import { bornIn, COMPARISON, HYBRID, PASSAGES, QUESTIONS, SEQUENTIAL, SINGLE } from '../../training/tiny.js';

const retriever = createBm25Retriever(PASSAGES, { titleWeight: 5 });
const lookup: Lookup = (query) => retriever.search(query, 1).map(({ index }) => PASSAGES[index]);
const OPTIONS: DemonstrationOptions = {
  prompt: 'parallel',
  mode: 'sequential',
  maxSearchTurns: 4,
  contextWeight: 0.25,
  recapWeight: 3,
};
const show = (question: Question, more: Partial<DemonstrationOptions> = {}): Piece[] =>
  demonstrate(question, lookup, { ...OPTIONS, ...more });

/** Pieces as segments: those of the environment have the context's weight. */
const segmentsOf = (pieces: Piece[]): TextSegment[] =>
  pieces.map(({ text, weight }, i) => ({
    kind: i === 0 ? 'prompt' : weight === OPTIONS.contextWeight ? 'information' : 'policy',
    text,
  }));
const responseOf = (pieces: Piece[]): string =>
  pieces
    .slice(1)
    .map(({ text }) => text)
    .join('');
const searchesOf = (pieces: Piece[]): string[][] => executedSearches(segmentsOf(pieces));

describe('demonstrate', () => {
  it.each(
    QUESTIONS.flatMap((q) =>
      (['sequential', 'parallel', 'direct'] as const).map((mode) => ({ id: q.id, mode, q })),
    ),
  )('keeps the format and gives the gold answer: $id, $mode', ({ q, mode }) => {
    const pieces = show(q, { mode });
    expect(pieces[0].text).toBe(buildPrompt('parallel', q.question, { form: 'short' }));
    for (const segments of [segmentsOf(pieces), splitTranscript(responseOf(pieces))]) {
      expect(formatFault(segments)).toBeNull();
      expect(finalAnswer(segments)).toBe(q.goldenAnswers[0]);
    }
  });

  it('asks one by one, or all that is independent at once, and never what is not known yet', () => {
    expect(searchesOf(show(COMPARISON))).toEqual([['Ada Stone'], ['Bo Reed'], ['Cy Hill']]);
    expect(searchesOf(show(COMPARISON, { mode: 'parallel' }))).toEqual([['Ada Stone', 'Bo Reed', 'Cy Hill']]);
    for (const mode of ['sequential', 'parallel'] as const) {
      expect(searchesOf(show(SEQUENTIAL, { mode }))).toEqual([['Red River'], ['Bo Reed']]);
    }
    expect(searchesOf(show(HYBRID, { mode: 'parallel' }))).toEqual([
      ['Red River', 'Blue Lake'],
      ['Bo Reed', 'Ada Stone'],
    ]);
    expect(searchesOf(show(SINGLE, { mode: 'direct' }))).toEqual([]);
  });

  it('shows the passages that the environment returns for each query, in order', () => {
    const [, information] = show(COMPARISON, { mode: 'parallel' }).filter(({ weight }) => weight === 0.25);
    const titles = [...information.text.matchAll(/Title: ([^)]+)\)/g)].map(([, title]) => title);
    expect(titles).toEqual(['Ada Stone', 'Bo Reed', 'Cy Hill']);
  });

  it('weighs the context, the thoughts that recall, and the rest', () => {
    const weights = show(SEQUENTIAL).map(({ weight }) => weight);
    // prompt; thought, search, information; recap, search, information; recap, answer
    expect(weights).toEqual([0.25, 1, 1, 0.25, 3, 1, 0.25, 3, 1]);
  });

  it('is cut at the budget and answers the best of what was read, still in form', () => {
    const pieces = show(COMPARISON, { maxSearchTurns: 1 });
    expect(searchesOf(pieces)).toEqual([['Ada Stone']]);
    expect(formatFault(segmentsOf(pieces))).toBeNull();
    expect(finalAnswer(segmentsOf(pieces))).toBe('Ada Stone');
    expect(searchesOf(show(COMPARISON, { maxSearchTurns: 2 }))).toHaveLength(2);
  });

  it('recalls only what was read before', () => {
    const pieces = show(SEQUENTIAL);
    const segments = segmentsOf(pieces);
    segments.forEach((segment, i) => {
      if (segment.kind !== 'policy' || !segment.text.includes('1904')) return;
      expect(
        segments.slice(0, i).some(({ kind, text }) => kind === 'information' && text.includes('1904')),
      ).toBe(true);
    });
  });

  it('refuses a question without a graph', () => {
    expect(() => show({ ...SINGLE, metadata: {} })).toThrow(
      'Expected question single to have a dependency graph',
    );
  });
});

describe('verdictOf', () => {
  const graph = COMPARISON.metadata.graph!;

  it('finds the least, the most, and whether all are the same', () => {
    expect(verdictOf(graph, { kind: 'argmin', attribute: 'born' }).answer).toBe('Bo Reed');
    expect(verdictOf(graph, { kind: 'argmax', attribute: 'born' }).answer).toBe('Cy Hill');
    expect(verdictOf(graph, { kind: 'same', attribute: 'born' }).answer).toBe('no');
    const alike = graph.map((node) => ({ ...node, answers: ['1904'] }));
    expect(verdictOf(alike, { kind: 'same', attribute: 'born' }).answer).toBe('yes');
  });

  it('recalls each entity with its value and concludes with the winner', () => {
    const { recap, conclusion } = verdictOf(graph, { kind: 'argmin', attribute: 'born' });
    for (const [name, year] of [
      ['Ada Stone', '1922'],
      ['Bo Reed', '1904'],
      ['Cy Hill', '1960'],
    ]) {
      expect(recap).toMatch(new RegExp(`${name}\\W+${year}`));
    }
    expect(conclusion).toBe(' Least 1904 = Bo Reed.');
    // From value to entity is a step forward: the conclusion repeats the end of the recap.
    expect(recap).toContain('1904 = Bo Reed');
  });

  it('speaks of the entities that the question names, not of those on the way', () => {
    const { metadata } = HYBRID;
    const { recap, answer } = verdictOf(metadata.graph!, metadata.operation);
    expect(answer).toBe('Blue Lake');
    expect(recap).not.toContain('Bo Reed');
  });

  it('takes the last fact where nothing is compared', () => {
    expect(verdictOf(SEQUENTIAL.metadata.graph!, null)).toMatchObject({ conclusion: '', answer: '1904' });
  });

  it('compares numbers as numbers', () => {
    const of = (i: number, answer: string) => ({ ...bornIn(i, `q${i}`), answers: [answer] });
    expect(numericValue(of(0, '1,234,567'))).toBe(1234567);
    expect(
      verdictOf([of(0, '9 km'), of(1, '1,100 km')], { kind: 'argmin', attribute: 'length' }).answer,
    ).toBe('Ada Stone');
  });
});

describe('drills', () => {
  it('copyDrill goes from the question to its first search, all roots at once', () => {
    const [prompt, search] = copyDrill(COMPARISON, { prompt: 'drill', contextWeight: 0 });
    expect(prompt.weight).toBe(0);
    expect(parseBlocks(search.text).map(({ tag }) => tag)).toEqual(['think', 'search']);
    expect(search.text).toContain('<search> Ada Stone ## Bo Reed ## Cy Hill </search>');
  });

  it('verdictDrill gives the recap without a loss and asks for the conclusion and the answer', () => {
    const pieces = verdictDrill(COMPARISON, { prompt: 'drill', contextWeight: 0, recapWeight: 3 });
    expect(pieces.map(({ weight }) => weight)).toEqual([0, 0, 3, 1]);
    const response = responseOf(pieces);
    expect(parseBlocks(response).map(({ tag }) => tag)).toEqual(['think', 'answer']);
    expect(finalAnswer(splitTranscript(response))).toBe('Bo Reed');
  });

  it('readDrill asks for the value of each fact, which its passage holds', () => {
    const facts = [SEQUENTIAL.metadata.graph![0], bornIn(0, 'q1')];
    const [context, ...rest] = readDrill(facts, [PASSAGES[3], PASSAGES[0]], {
      contextWeight: 0.1,
      recapWeight: 3,
    });
    expect(context.weight).toBe(0.1);
    expect(rest).toEqual([
      { text: ' director: Red River =', weight: 0 },
      { text: ' Bo Reed.', weight: 3 },
      { text: ' born: Ada Stone =', weight: 0 },
      { text: ' 1922.', weight: 3 },
    ]);
    for (const value of ['Bo Reed', '1922']) expect(context.text).toContain(value);
  });
});
