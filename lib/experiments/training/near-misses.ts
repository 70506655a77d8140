/**
 * Adds near misses to the small world: passages with a fact's title and the words of its
 * best query, but without its value. In the small world, that query finds its fact at
 * rank 1 in nearly all cases, so further passages can only confuse; here, by
 * construction, its recall grows with the number of passages.
 */
import { range } from 'd3-array';
import type { Passage } from '../../data/passage.js';
import type { Question } from '../../data/question.js';
import { memoised } from '../../memoise.js';
import { createRandom, type Random } from '../../random.js';
import { createBm25Retriever } from '../../retrieval/bm25.js';
import { TITLE_WEIGHT } from '../../retrieval/retrievers.js';
import type { World } from '../../retrieval/small-world.js';

export const NEAR_MISSES = {
  /** Recall of the best query by passages per query. */
  recall: { 1: 0.6, 3: 0.8, 5: 0.9, 10: 0.95 },
  /** Topics of near misses; as many as the largest k. */
  about: 'list festival theatre radio prize street bridge flood work case',
  /** The first seed with recall within 0.02 on training and on dev questions. */
  seed: 'near misses 3',
} as const;

/** Draws how many near misses rank before a fact. */
function drawCount(random: Random): number {
  const share = random.uniform();
  let before = 0;
  for (const [k, recall] of Object.entries(NEAR_MISSES.recall)) {
    if (share < recall) return before + random.integer(Number(k) - before);
    before = Number(k);
  }
  return before;
}

/** A sentence without its value, as a pattern, and the words of the best query for it. */
interface Phrasing {
  pattern: RegExp;
  /** The kind of thing, and other words. */
  words: string[];
}

/** The ways in which passages state facts, from the evidence of training questions. */
function listPhrasings(passages: readonly Passage[], questions: readonly Question[]): Phrasing[] {
  const texts = new Map(passages.map(({ id, text }) => [id, text]));
  const facts = questions
    .filter(({ split }) => split === 'train')
    .flatMap(({ metadata: { graph = [] } }) => graph);
  const words = facts.map(({ entity, query, answers, evidence }): [string, string] => [
    texts.get(evidence[0])!.replace(answers[0], '*'),
    query.slice(entity.length + 1),
  ]);
  return [...new Map(words)].map(([sentence, query]) => ({
    pattern: new RegExp(`^${sentence.replace('.', '\\.').replace('*', '[A-Z0-9].*')}$`),
    words: query.split(' '),
  }));
}

/** The passages and their near misses, in the order of the passages. */
export function addNearMisses(world: Pick<World, 'passages' | 'questions'>): Passage[] {
  const phrasings = listPhrasings(world.passages, world.questions);
  return world.passages.flatMap((passage) => {
    const { id, title, text } = passage;
    const phrasing = phrasings.find(({ pattern }) => pattern.test(text));
    if (!phrasing) return [passage];
    const [kind, ...words] = phrasing.words;
    const random = createRandom(NEAR_MISSES.seed).fork(id);
    const count = drawCount(random);
    const about = random.shuffle(NEAR_MISSES.about.split(' ')).slice(0, count);
    const misses = range(count).map((i): Passage => {
      const text = `${kind[0].toUpperCase()}${kind.slice(1)} ${about[i]}: ${words.join(', ')}.`;
      return { id: `${id}-${i + 1}`, contents: `${title}\n${text}`, title, text };
    });
    return [...misses, passage];
  });
}

export const withNearMisses = memoised((world: World): World => {
  const passages = addNearMisses(world);
  const retriever = createBm25Retriever(passages, { titleWeight: TITLE_WEIGHT });
  return { ...world, passages, retriever };
});
