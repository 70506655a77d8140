import { describe, expect, it } from 'vitest';
import {
  addNearMisses,
  NEAR_MISSES,
  withNearMisses,
} from '../../lib/experiments/training/near-misses.js';
import { queriesWithEvidence, retrievalRecall } from '../../lib/retrieval/recall.js';
import { loadWorld } from '../../lib/retrieval/small-world.js';
import { cases } from '../full.js';

describe('near misses', async () => {
  const world = await loadWorld();
  const hard = withNearMisses(world);

  it.each(['dev', 'train'].slice(0, cases(1, 2)))(
    'keep the recall of the best query on %s questions',
    async (split) => {
      const queries = queriesWithEvidence(world.questions, { split, of: 'subQueries' });
      const ks = Object.keys(NEAR_MISSES.recall).map(Number);
      for (const { k, hitRate } of await retrievalRecall(hard.retriever, queries, ks)) {
        const expected = new Map(Object.entries(NEAR_MISSES.recall)).get(String(k))!;
        expect(Math.abs(hitRate - expected), `k = ${k}: ${hitRate}`).toBeLessThanOrEqual(0.02);
      }
    },
  );

  it('have the title of a fact and related words, but no value', () => {
    const titles = new Map(world.passages.map(({ id, title }) => [id, title]));
    const misses = hard.passages.filter(({ id }) => !titles.has(id));
    expect(misses.length).toBeGreaterThan(0.5 * world.passages.length);
    for (const { id, title, text } of misses) {
      expect(title).toBe(titles.get(id.split('-')[0]));
      expect(text).toMatch(/^[A-Z][a-z]+ [a-z]+: [a-z, ]+\.$/);
    }
  });

  it('leave the other passages unchanged, and are deterministic', () => {
    const ids = new Set(world.passages.map(({ id }) => id));
    expect(hard.passages.filter(({ id }) => ids.has(id))).toEqual(world.passages);
    expect(addNearMisses(world)).toEqual(hard.passages);
  });

  it('exist for every fact that questions of any split ask for', () => {
    const asked = world.questions.flatMap(({ metadata: { graph = [] } }) =>
      graph.flatMap(({ evidence }) => evidence),
    );
    const missed = new Set(hard.passages.flatMap(({ id }) => id.split('-').slice(0, -1)));
    const share = [...new Set(asked)].filter((id) => missed.has(id)).length / new Set(asked).size;
    expect(share).toBeCloseTo(1 - NEAR_MISSES.recall[1], 1);
  });
});
