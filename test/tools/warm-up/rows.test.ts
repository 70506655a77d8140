import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../lib/random.js';
import { buildPrompt } from '../../../lib/text/prompts.js';
import { formatFault, splitTranscript } from '../../../lib/text/response.js';
import { createTokenizer } from '../../../lib/text/tokenizer/tokenizer.js';
import type { Sequence } from '../../../lib/training/sequences.js';
import { SMALL_MODEL } from '../../../tools/warm-up/recipes.js';
import { createWarmUpSampler, ROW_KINDS, type WarmUpOptions } from '../../../tools/warm-up/rows.js';
import { trainTokenizer } from '../../../tools/warm-up/tokenizer.js';

const tokenizer = createTokenizer(trainTokenizer(createRandom('tokenizer'), SMALL_MODEL.vocabSize));
const optionsOf = (
  mix: WarmUpOptions['mix'],
  more: Partial<WarmUpOptions> = {},
): WarmUpOptions => ({
  mix,
  rowsPerStep: 20,
  mostRepeated: 5,
  topKs: [1, 3],
  maxSearchTurns: 6,
  retryShare: 0.5,
  contextWeight: 0.1,
  recapWeight: 3,
  parallelShare: 0.5,
  ...more,
});
const draw = (options: WarmUpOptions, { seed = 1, step = 0 } = {}): Sequence[] =>
  createWarmUpSampler(tokenizer, createRandom(seed), 640)(step, options);
const textOf = ({ tokenIds }: Sequence): string => tokenizer.decode([...tokenIds]);
const isDecomposed = (row: Sequence): boolean => /<search>[^<]*##/.test(textOf(row));
const promptOf = (name: string): string =>
  buildPrompt(name, 'x', { form: 'short' }).split('Question')[0];

describe('createWarmUpSampler', () => {
  it('gives the same rows for the same seed and step, in any order of steps', () => {
    const sampler = createWarmUpSampler(tokenizer, createRandom(1), 640);
    const options = optionsOf({ read: 1, skill: 1 });
    const late = sampler(60, options);
    expect(sampler(0, options)).toEqual(draw(options));
    expect(sampler(60, options)).toEqual(late);
    expect(draw(options, { step: 61 })).not.toEqual(late);
    expect(draw(options, { seed: 2, step: 60 })).not.toEqual(late);
  });

  it.each(ROW_KINDS)(
    'makes rows of kind %s that are short enough and have trained tokens',
    (kind) => {
      for (const { tokenIds, lossMask, lossWeights } of draw(
        optionsOf({ [kind]: 1 }, { rowsPerStep: 8 }),
      )) {
        expect(tokenIds.length).toBeLessThanOrEqual(640);
        expect(lossMask).toHaveLength(tokenIds.length);
        expect(lossWeights!.some((weight, i) => lossMask[i] === 1 && weight >= 1)).toBe(true);
      }
    },
  );

  it('keeps the format in every complete transcript', () => {
    const whole = { skill: 1, drillHabit: 1, sequentialHabit: 1, parallelHabit: 1, direct: 1 };
    for (const row of draw(optionsOf(whole))) {
      const text = textOf(row);
      expect(formatFault(splitTranscript(text.slice(text.indexOf('\n') + 1))), text).toBeNull();
    }
  });

  it('searches one by one under Search-R1’s prompt, and in the given share of cases under the parallel one', () => {
    const parallelShare = 1;
    for (const row of draw(optionsOf({ sequentialHabit: 1 }, { parallelShare }))) {
      expect(textOf(row).startsWith(promptOf('search-r1'))).toBe(true);
      expect(isDecomposed(row)).toBe(false);
    }
    expect(draw(optionsOf({ parallelHabit: 1 }, { parallelShare })).some(isDecomposed)).toBe(true);
    expect(draw(optionsOf({ parallelHabit: 1 }, { parallelShare: 0 })).some(isDecomposed)).toBe(
      false,
    );
  });

  it('searches once in nine of ten hasty rows, and only decomposes under the parallel prompt', () => {
    const [hasty, hastyParallel] = ['hastyHabit', 'hastyParallelHabit'].map((kind) =>
      draw(optionsOf({ [kind]: 1 }, { rowsPerStep: 200 })),
    );
    const isOnce = (row: Sequence): boolean => textOf(row).split('<search>').length === 2;
    for (const [drawn, prompt] of [
      [hasty, 'search-r1'],
      [hastyParallel, 'parallel'],
    ] as const) {
      const share = drawn.filter(isOnce).length / drawn.length;
      expect(share).toBeGreaterThan(0.85);
      expect(share).toBeLessThan(1);
      for (const row of drawn) expect(textOf(row).startsWith(promptOf(prompt))).toBe(true);
    }
    expect(hasty.some(isDecomposed)).toBe(false);
    const decomposed = hastyParallel.filter(isDecomposed).length / 200;
    expect(decomposed).toBeGreaterThan(0.01);
    expect(decomposed).toBeLessThan(0.15);
  });

  it('only searches both chains of a comparison at once under the parallel prompt', () => {
    const mostQueries = (row: Sequence): number =>
      Math.max(
        ...[...textOf(row).matchAll(/<search>([^<]*)/g)].map(([, s]) => s.split('##').length),
      );
    for (const [kind, prompt, queries] of [
      ['hybridHabit', 'search-r1', 1],
      ['pairedHabit', 'parallel', 2],
    ] as const)
      for (const row of draw(optionsOf({ [kind]: 1 }))) {
        expect(textOf(row).startsWith(promptOf(prompt))).toBe(true);
        expect(mostQueries(row)).toBe(queries);
      }
  });

  it('practises under a prompt that RL never uses', () => {
    for (const row of draw(optionsOf({ copy: 1, verdict: 1, skill: 1, drillHabit: 1 })))
      expect(textOf(row).startsWith(promptOf('drill'))).toBe(true);
  });

  it('asks for the entities of values, training each name once', () => {
    const [row] = draw(optionsOf({ find: 1 }));
    const [, recap] = /^Practice\.(.*?)\./.exec(textOf(row))!;
    const learned = row.tokenIds
      .map((id, i) => (row.lossMask[i] === 1 ? tokenizer.decode([id]) : '|'))
      .join('');
    const asked = learned.split('|').filter(Boolean);
    const names = recap.split(';').map((fact) => `${fact.split(' = ')[0]}.`);
    expect(asked.toSorted()).toEqual(names.toSorted());
  });
});
