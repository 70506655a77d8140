import { describe, expect, it } from 'vitest';
import { graphQuestionType } from '../../lib/data/question.js';
import { createRandom } from '../../lib/random.js';
import { createQuestionSampler, questionMixSchema } from '../../lib/training/question-sampler.js';
import { COMPARISON, HYBRID, QUESTIONS, SEQUENTIAL, SINGLE } from './tiny.js';

describe('createQuestionSampler', () => {
  const mix = questionMixSchema.parse({
    singleHop: 0.15,
    sequential: 0.3,
    comparisons: [0.2, 0.15, 0.1, 0.1],
  });

  it('draws question types by their shares, and hybrid questions only if they have one', () => {
    const draw = createQuestionSampler(QUESTIONS, {
      ...mix,
      singleHop: 0.2,
      sequential: 0.3,
      comparisons: [0, 0.5, 0, 0],
    });
    const drawn = draw(createRandom('mix'), 4000);
    const share = (id: string): number => drawn.filter((q) => q.id === id).length / 4000;
    expect(share(SINGLE.id)).toBeCloseTo(0.2, 1);
    expect(share(SEQUENTIAL.id)).toBeCloseTo(0.3, 1);
    expect(share(COMPARISON.id)).toBeCloseTo(0.5, 1);
    expect(share(HYBRID.id)).toBe(0);
    expect(graphQuestionType(HYBRID.metadata.graph!)).toBe('hybrid');
    const withHybrids = createQuestionSampler(QUESTIONS, { ...mix, hybrid: 0.25 });
    const hybrids = withHybrids(createRandom('mix'), 4000).filter(({ id }) => id === HYBRID.id);
    // QUESTIONS only have a comparison of three, and shares are normalised.
    expect(hybrids.length / 4000).toBeCloseTo(0.25 / (0.15 + 0.3 + 0.15 + 0.25), 1);
  });

  it('skips a question type without questions', () => {
    const draw = createQuestionSampler([SINGLE, HYBRID], mix);
    expect(new Set(draw(createRandom(1), 50).map(({ id }) => id))).toEqual(new Set([SINGLE.id]));
  });

  it('draws uniformly if a question has no graph', () => {
    const untold = { ...HYBRID, id: 'untold', metadata: {} };
    const draw = createQuestionSampler([SINGLE, HYBRID, COMPARISON, untold], mix);
    const drawn = draw(createRandom('alike'), 4000).map(({ id }) => id);
    for (const id of [SINGLE.id, HYBRID.id, COMPARISON.id, untold.id])
      expect(drawn.filter((one) => one === id).length / 4000).toBeCloseTo(0.25, 1);
  });

  it('rejects an empty list and questions missing from the mix', () => {
    expect(() => createQuestionSampler([], mix)).toThrow(
      'Expected training questions, but got none.',
    );
    expect(() => createQuestionSampler([HYBRID], mix)).toThrow(
      'of the types in `mix`, but got none. Change',
    );
  });
});
