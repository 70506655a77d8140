import { group, mean, rollup } from 'd3-array';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../lib/random.js';
import { createBm25Retriever } from '../../../lib/retrieval/bm25.js';
import { TITLE_WEIGHT } from '../../../lib/retrieval/retrievers.js';
import { SPECS } from '../../../tools/small-world/kinds.js';
import { idealQuery } from '../../../tools/small-world/questions.js';
import { makeWorld, type Thing } from '../../../tools/small-world/world.js';

const SIZES = { train: 20, dev: 20, kept: 20 };
const world = makeWorld(createRandom('test'), SIZES);
const { things, passages } = world;
const passageOf = new Map(passages.map((passage) => [passage.id, passage]));

describe('makeWorld', () => {
  it('gives the same world for the same seed, and another one for another', () => {
    expect(makeWorld(createRandom('test'), SIZES).passages).toEqual(passages);
    expect(makeWorld(createRandom('other'), SIZES).passages).not.toEqual(passages);
  });

  it('writes six passages per entity, with every fact verbatim in its own', () => {
    const byTitle = group(passages, ({ title }) => title);
    const namesakes = rollup(
      things,
      ({ length }) => length,
      ({ name }) => name,
    );
    for (const { name, kind, facts } of things) {
      expect(byTitle.get(name)).toHaveLength(6 * namesakes.get(name)!);
      const ids = Object.values(facts).map(({ passageId }) => passageId);
      expect(new Set(ids).size).toBe(ids.length);
      for (const [attribute, { value, passageId }] of Object.entries(facts)) {
        const ways = SPECS[kind].attributes[attribute].said.map((said) =>
          said.replace('{kind}', kind).replace('{v}', value),
        );
        expect(ways).toContain(passageOf.get(passageId)!.text);
        expect(passageOf.get(passageId)!.title).toBe(name);
      }
    }
  });

  it('shares about a fifth of the names of works and people between kinds, but none within a kind or between splits', () => {
    for (const own of group(things, ({ kind }) => kind).values())
      expect(new Set(own.map(({ name }) => name)).size).toBe(own.length);
    const splitsOf = rollup(
      things,
      (own) => new Set(own.map(({ split }) => split)).size,
      ({ name }) => name,
    );
    expect(Math.max(...splitsOf.values())).toBe(1);
    const works = things.filter(({ kind }) => SPECS[kind].names === 'work');
    const shared = 1 - new Set(works.map(({ name }) => name)).size / works.length;
    expect(shared).toBeGreaterThan(0.08);
    expect(shared).toBeLessThan(0.2);
  });

  it('only links entities within their split', () => {
    for (const { split, facts } of things)
      for (const { thing } of Object.values(facts)) if (thing) expect(thing.split).toBe(split);
  });
});

describe('searches in the small world', () => {
  const retriever = createBm25Retriever(passages, { titleWeight: TITLE_WEIGHT });
  const facts = things.flatMap((thing) =>
    Object.keys(thing.facts).map((attribute) => ({ thing, attribute })),
  );
  /** Fraction of the facts found by a query in the top k. */
  const recall = (k: number, query: (thing: Thing, attribute: string) => string): number =>
    mean(facts, ({ thing, attribute }) => {
      const found = retriever
        .search(query(thing, attribute), k)
        .map(({ index }) => passages[index].id);
      return Number(found.includes(thing.facts[attribute].passageId));
    })!;

  it('find a fact by the name alone in about half of the cases at k = 3, almost always at 10', () => {
    const byName = (thing: Thing): string => thing.name;
    expect(recall(3, byName)).toBeGreaterThan(0.4);
    expect(recall(3, byName)).toBeLessThan(0.6);
    expect(recall(10, byName)).toBeGreaterThan(0.9);
  });

  it('find a fact by the best words, and less often with one word less', () => {
    expect(recall(3, idealQuery)).toBeGreaterThan(0.95);
    const byOneWord = (thing: Thing, attribute: string): string =>
      idealQuery(thing, attribute).split(' ').slice(0, -1).join(' ');
    expect(recall(3, byOneWord)).toBeLessThan(0.9);
  });
});
