/** The card of the small world: what there is, in figures computed from it. */
import { group, mean } from 'd3-array';
import { graphQuestionType, type Question } from '../../lib/data/question.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { TITLE_WEIGHT } from '../../lib/retrieval/retrievers.js';
import { markdownTable } from '../markdown.js';
import { idealQuery } from './questions.js';
import type { Thing, World } from './world.js';

const DEPTHS = [1, 3, 10];
/** What queries add to a name. */
const QUERIES: Readonly<Record<string, (thing: Thing, attribute: string) => string>> = {
  'the name alone': ({ name }) => name,
  'name and kind': ({ name, kind }) => `${name} ${kind}`,
  'name and one of the words': (thing, attribute) =>
    `${thing.name} ${
      idealQuery(thing, attribute)
        .slice(thing.name.length + 1)
        .split(' ')[1]
    }`,
  'name, kind and all words': idealQuery,
};

/** How often BM25 finds the passage of a fact of the dev things. */
function recallTable({ things, passages }: World): string {
  const retriever = createBm25Retriever(passages, { titleWeight: TITLE_WEIGHT });
  const facts = things
    .filter(({ split }) => split === 'dev')
    .flatMap((thing) => Object.keys(thing.facts).map((attribute) => ({ thing, attribute })));
  const rankOf = (thing: Thing, attribute: string, query: string): number => {
    const found = retriever.search(query, Math.max(...DEPTHS));
    return found.findIndex(({ index }) => passages[index].id === thing.facts[attribute].passageId);
  };
  const rows = Object.entries(QUERIES).map(([title, query]) => {
    const ranks = facts.map(({ thing, attribute }) =>
      rankOf(thing, attribute, query(thing, attribute)),
    );
    return [
      title,
      ...DEPTHS.map((k) => mean(ranks, (rank) => Number(rank >= 0 && rank < k))!.toFixed(2)),
    ];
  });
  return markdownTable(['query', ...DEPTHS.map((k) => `k = ${k}`)], rows);
}

/** Share of the things whose name another one has too. */
function namesakes(things: readonly Thing[]): number {
  const byName = group(things, ({ name }) => name);
  return mean(things, ({ name }) => Number(byName.get(name)!.length > 1))!;
}

function questionTable(questions: readonly Question[]): string {
  const splits = ['train', 'dev', 'test'];
  const kinds = group(
    questions,
    ({ metadata }) =>
      `${metadata.benchmark}|${metadata.type}|${graphQuestionType(metadata.graph!)}`,
  );
  const rows = [...kinds].map(([kind, some]) => [
    ...kind.split('|'),
    ...splits.map((split) => some.filter((question) => question.split === split).length),
  ]);
  return markdownTable(['benchmark', 'type', 'shape', ...splits], rows);
}

export const formatCard = (world: World, questions: readonly Question[]): string => `---
license: cc0-1.0
language: en
task_categories: [question-answering]
---

# The small world

${world.things.length.toLocaleString('en')} invented things (films, novels, albums, people, companies, cities, countries) in ${world.passages.length.toLocaleString('en')} passages, and questions about them with their
dependency graphs, in the FlashRAG layout. \`npm run tools -- small-world\` writes these files; the same code gives the same files.

An article is six passages: one for each fact, in one of two ways of saying it, each with a word of its own, and others that answer nothing, with years and numbers of their own.
${(100 * namesakes(world.things)).toFixed(0)} % of the things have the name of another one, of another kind. So a search must say what it is after; how often BM25 then finds the fact:

${recallTable(world)}
Training, dev and test questions are about things of their own, which nothing links. A third of the choices that make a wording is for
training questions alone, a third for dev and a third for test; of the dev and test questions one half is worded as in training (\`wording: seen\`), one as never before
(\`unseen\`). Benchmarks have the proportions of the real ones' types; comparisons of more than two are \`many\`, which no average holds.

Test questions are drawn by the hash of the commit that freezes the weights (\`npm run tools -- draw-test\`): until then there are none.

${questionTable(questions)}`;
