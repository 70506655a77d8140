import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../lib/random.js';
import { createBm25Retriever } from '../../../lib/retrieval/bm25.js';
import { buildPrompt } from '../../../lib/text/prompts.js';
import { formatFault, splitTranscript } from '../../../lib/text/response.js';
import { TOKEN_BREAK } from '../../../lib/mini-wiki/warm-up/names.js';
import type { Sequence } from '../../../lib/training/sequences.js';
import { createWarmUpSampler, ROW_KINDS, type WarmUpOptions } from '../../../lib/mini-wiki/warm-up/rows.js';
import { COMPARISON, PASSAGES, QUESTIONS, TOKENIZER } from '../../training/tiny.js';

const data = {
  questions: QUESTIONS,
  passages: PASSAGES,
  retriever: createBm25Retriever(PASSAGES, { titleWeight: 5 }),
  tokenizer: TOKENIZER,
};
const optionsOf = (mix: WarmUpOptions['mix'], more: Partial<WarmUpOptions> = {}): WarmUpOptions => ({
  mix,
  rowsPerStep: 20,
  topKs: [1, 2],
  maxSearchTurns: 4,
  contextWeight: 0.1,
  recapWeight: 3,
  renamedShare: 0.5,
  unusualShare: 0,
  parallelShare: 0.5,
  ...more,
});
const draw = (options: WarmUpOptions, { seed = 1, step = 0 } = {}): Sequence[] =>
  createWarmUpSampler(data, createRandom(seed), 512)(step, options);
const textOf = (row: Sequence): string => TOKENIZER.decode(row.tokenIds);
const isDecomposed = (row: Sequence): boolean => /<search>[^<]*##/.test(textOf(row));

const EVERYTHING = Object.fromEntries(ROW_KINDS.map((kind) => [kind, 1]));

describe('createWarmUpSampler', () => {
  it('gives the same rows for the same seed and step, in whatever order steps are drawn', () => {
    const sampler = createWarmUpSampler(data, createRandom(1), 512);
    const options = optionsOf(EVERYTHING);
    const third = sampler(3, options);
    expect(sampler(0, options)).toEqual(draw(options));
    expect(sampler(3, options)).toEqual(third);
    expect(draw(options, { step: 3 })).toEqual(third);
    expect(draw(options, { step: 4 })).not.toEqual(third);
    expect(draw(options, { seed: 2, step: 3 })).not.toEqual(third);
  });

  it.each(ROW_KINDS)('makes rows of kind %s: some tokens with a loss', (kind) => {
    for (const row of draw(optionsOf({ [kind]: 1 }))) {
      expect(row.lossMask).toHaveLength(row.tokenIds.length);
      expect(row.lossWeights!.some((weight) => weight >= 1)).toBe(true);
    }
  });

  it('keeps the format in every whole transcript', () => {
    for (const kind of ['practice', 'sequentialHabit', 'parallelHabit', 'direct'] as const) {
      for (const row of draw(optionsOf({ [kind]: 1 }))) {
        const text = textOf(row);
        expect(formatFault(splitTranscript(text.slice(text.indexOf('\n') + 1))), text).toBeNull();
      }
    }
  });

  it("searches one by one under Search-R1's prompt, always", () => {
    const prompt = buildPrompt('search-r1', 'x', { form: 'short' }).split('Question')[0];
    for (const row of draw(optionsOf({ sequentialHabit: 1 }, { parallelShare: 1 }))) {
      expect(textOf(row).startsWith(prompt)).toBe(true);
      expect(isDecomposed(row)).toBe(false);
    }
  });

  it('decomposes the wanted share of parallelizable questions under the parallel prompt, and no others', () => {
    const shareOf = (parallelShare: number): number => {
      const rows = draw(optionsOf({ parallelHabit: 1 }, { rowsPerStep: 400, parallelShare }));
      const comparisons = rows.filter((row) => textOf(row).includes(COMPARISON.question));
      expect(comparisons.length).toBeGreaterThan(40);
      const others = rows.filter((row) => !comparisons.includes(row));
      expect(others.some(isDecomposed)).toBe(false);
      return comparisons.filter(isDecomposed).length / comparisons.length;
    };
    expect(shareOf(0)).toBe(0);
    expect(shareOf(1)).toBe(1);
    expect(Math.abs(shareOf(0.3) - 0.3)).toBeLessThan(0.15);
  });

  it('never practises under the prompts that reinforcement uses', () => {
    const drill = buildPrompt('drill', 'x', { form: 'short' }).split('Question')[0];
    for (const row of draw(optionsOf({ copy: 1, verdict: 1, practice: 1 }))) {
      expect(textOf(row).startsWith(drill)).toBe(true);
    }
  });

  it('asks in reading drills only for what the passages say', () => {
    for (const row of draw(optionsOf({ read: 1 }, { rowsPerStep: 100 }))) {
      const [passages, facts] = textOf(row).split('</information>');
      const values = [...facts.matchAll(/= ([^.]+)\./g)].map(([, value]) => value);
      expect(values.length).toBeGreaterThan(0);
      for (const value of values) expect(passages).toContain(value);
    }
  });

  it('resamples rows that are longer than the model reads, and says so where all are', () => {
    const sampler = (maxTokens: number) => createWarmUpSampler(data, createRandom(1), maxTokens);
    const lengths = (maxTokens: number): number[] =>
      sampler(maxTokens)(0, optionsOf(EVERYTHING)).map(({ tokenIds }) => tokenIds.length);
    expect(Math.max(...lengths(512))).toBeGreaterThan(150);
    expect(Math.max(...lengths(150))).toBeLessThanOrEqual(150);
    expect(() => lengths(3)).toThrow('Expected rows of at most 3 tokens, but got one of');
  });

  it('has unusual names in the wanted share of practice, the same in question, search and passage', () => {
    const rows = draw(optionsOf({ copy: 1 }, { renamedShare: 1, unusualShare: 1 }));
    for (const text of rows.map(textOf)) {
      const [question, search] = [/Question: (.*)\n/, /<search> (.*) <\/search>/].map(
        (p) => p.exec(text)![1],
      );
      for (const name of search.split(' ## ')) expect(question).toContain(name);
      expect(text).not.toContain(TOKEN_BREAK);
    }
  });

  it('renames all practice when asked to, and none when not', () => {
    // One passage a query: a second one may be about somebody whom the question does not name.
    const named = (renamedShare: number): number =>
      draw(optionsOf({ practice: 1 }, { renamedShare, topKs: [1] })).filter((row) =>
        /Ada Stone|Bo Reed|Cy Hill|Red River|Blue Lake/.test(textOf(row)),
      ).length;
    expect(named(0)).toBe(20);
    expect(named(1)).toBe(0);
  });
});
