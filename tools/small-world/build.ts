/**
 * Writes the small world's passages, training and dev questions, and card. The same code
 * gives the same files, and the card's figures are computed from them.
 */
import { join } from 'node:path';
import { group, mean } from 'd3-array';
import { formatPassages, formatQuestions } from '../../lib/data/flashrag.js';
import { graphQuestionType, type Question } from '../../lib/data/question.js';
import { writeFileSafely } from '../../lib/io/files.js';
import { createRandom } from '../../lib/random.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { TITLE_WEIGHT } from '../../lib/retrieval/retrievers.js';
import { markdownTable } from '../markdown.js';
import { DEV_COUNTS, drawQuestions, TRAIN_COUNTS } from './benchmarks.js';
import { findAttribute } from './kinds.js';
import { idealQuery } from './questions.js';
import { makeWorld, type World, type Thing } from './world.js';

const SEED = 'small world, second edition';
/** About 10,000, 4,000 and 10,000 passages. */
const SIZES = { train: 100, dev: 40, kept: 100 };

/** The small world, made from its seed. */
export const smallWorld = (): World => makeWorld(createRandom(SEED), SIZES);

export async function writeSmallWorld(folder: string): Promise<void> {
  const world = smallWorld();
  const { things, passages } = world;
  const random = createRandom(SEED).fork('questions');
  const questions = [
    ...drawQuestions(things, { split: 'train', name: 'train', counts: TRAIN_COUNTS }, random),
    ...drawQuestions(things, { split: 'dev', name: 'dev', counts: DEV_COUNTS }, random),
  ];
  await writeFileSafely(join(folder, 'passages.jsonl'), formatPassages(passages));
  await writeFileSafely(join(folder, 'questions.jsonl'), formatQuestions(questions));
  await writeFileSafely(join(folder, 'README.md'), formatCard(world, questions));
}

const DEPTHS = [1, 3, 10];
/** What queries add to a name. */
const QUERIES: Readonly<Record<string, (thing: Thing, attribute: string) => string>> = {
  'the name alone': ({ name }) => name,
  'name and kind': ({ name, kind }) => `${name} ${kind}`,
  'name and one of the words': ({ name, kind }, attribute) =>
    `${name} ${findAttribute(kind, attribute).words.split(' ')[0]}`,
  'name, kind and all words': idealQuery,
};

/** How often BM25 finds the passages of facts about the dev things. */
function recallTable({ things, passages }: World): string {
  const retriever = createBm25Retriever(passages, { titleWeight: TITLE_WEIGHT });
  const facts = things
    .filter(({ split }) => split === 'dev')
    .flatMap((thing) => Object.keys(thing.facts).map((attribute) => ({ thing, attribute })));
  const findRank = (thing: Thing, attribute: string, query: string): number => {
    const found = retriever.search(query, Math.max(...DEPTHS));
    return found.findIndex(({ index }) => passages[index].id === thing.facts[attribute].passageId);
  };
  const rows = Object.entries(QUERIES).map(([title, query]) => {
    const ranks = facts.map(({ thing, attribute }) =>
      findRank(thing, attribute, query(thing, attribute)),
    );
    const recallAt = (k: number): number => mean(ranks, (rank) => Number(rank >= 0 && rank < k))!;
    return [title, ...DEPTHS.map((k) => recallAt(k).toFixed(2))];
  });
  return markdownTable(['query', ...DEPTHS.map((k) => `k = ${k}`)], rows);
}

/** Share of the things whose name is not unique. */
function namesakes(things: readonly Thing[]): number {
  const byName = group(things, ({ name }) => name);
  return mean(things, ({ name }) => Number(byName.get(name)!.length > 1))!;
}

function questionTable(questions: readonly Question[]): string {
  const splits = ['train', 'dev', 'test'];
  const kinds = group(questions, ({ metadata: { benchmark, type, graph } }) =>
    [benchmark, type, graphQuestionType(graph!)].join('|'),
  );
  const rows = [...kinds].map(([kind, sameKind]) => [
    ...kind.split('|'),
    ...splits.map((split) => sameKind.filter((question) => question.split === split).length),
  ]);
  return markdownTable(['benchmark', 'type', 'question type', ...splits], rows);
}

export const formatCard = (world: World, questions: readonly Question[]): string => `---
license: cc0-1.0
language: en
task_categories: [question-answering]
---

# The small world

${world.things.length.toLocaleString('en')} invented things (films, novels, albums, people, companies, cities, countries) in ${world.passages.length.toLocaleString('en')} passages, and questions about them with
dependency graphs, in the FlashRAG layout. \`npm run tools -- small-world\` writes these files; the same code gives the same files.

An article has six passages: one per fact, in one of two phrasings with a word of its own each, and distractors that answer nothing but have
years and numbers too.
${(100 * namesakes(world.things)).toFixed(0)} % of the things share their name with a thing of another kind, so a query must say which fact it wants. How often BM25 finds the fact:

${recallTable(world)}
Training, dev and test questions are about disjoint sets of things without links between them. A wording combines
phrases: a third of the combinations is only used in training, a third only in dev and a third only in test, and every phrase is used in
training. Half of the dev and test questions have combinations of training (\`wording: seen\`), half new ones (\`unseen\`). Benchmarks have the real ones' proportions of question types; \`many\`, comparisons of two to eight, is in no average.

Test questions are sampled with the hash of the commit that freezes the weights as the seed (\`npm run tools -- draw-test\`); before that there are none.

${questionTable(questions)}`;
