/**
 * Builds the mini-wiki from its source packages: `node dist/mini-wiki/builder/build.js [folder] [seed]`, where `folder`
 * (data/mini-wiki) holds sources/ with its packages installed. The same sources and seed give the same files.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { formatPassages, formatQuestions } from '../../data/flashrag.js';
import type { Passage, Question } from '../../data/question.js';
import { writeFileSafely } from '../../io/files.js';
import { createRandom } from '../../random.js';
import { createBm25Retriever } from '../../retrieval/bm25.js';
import { replaceGenerated } from '../markdown.js';
import { computeCard, formatCard } from './card.js';
import { buildEntities, type Entity, type EntityMap } from './entities.js';
import { writePassage } from './passages.js';
import { leaveOutSharedNames, writeQuestions } from './questions/questions.js';
import { readSources, sourceVersions, type Sources } from './sources.js';

export const MINI_WIKI_SEED = 20250812;
/** How far down the ranking for its title an asked entity's passage may stand. */
const MAX_RANK = 2;

export interface MiniWiki {
  passages: Passage[];
  questions: Question[];
  /** Drafts left out because their text repeats or shares a name with another split. */
  numDropped: number;
}

/** Makes passages and questions from source rows: entities first, then what is written about them, then what is asked. */
export function makeMiniWiki(sources: Sources, seed: number): MiniWiki {
  const random = createRandom(seed);
  const entities = buildEntities(sources, random.fork('entities'));
  const writing = random.fork('passages');
  const passages = random
    .fork('order')
    .shuffle([...entities.values()])
    .map((entity, index): Passage => {
      const { title } = entity;
      const text = writePassage(entity, writing);
      dropUnwritten(entity, `${title}\n${text}`);
      return { id: `wiki-${index + 1}`, contents: `${title}\n${text}`, title, text };
    });
  leaveOutHidden(entities, passages);
  leaveOutSharedNames(entities);
  const passageIds = new Map(passages.map(({ title, id }) => [title, id]));
  return { passages, ...writeQuestions(entities, passageIds, random) };
}

/** A fact that the chosen phrasing leaves out cannot be asked for. */
function dropUnwritten(entity: Entity, contents: string): void {
  for (const [attribute, { value }] of Object.entries(entity.facts)) {
    if (!contents.includes(value)) delete entity.facts[attribute];
  }
}

/** What a lexical search for the title does not bring up is never asked about. */
function leaveOutHidden(entities: EntityMap, passages: readonly Passage[]): void {
  const bm25 = createBm25Retriever(passages);
  passages.forEach(({ title }, index) => {
    const entity = entities.get(title)!;
    entity.asked &&= bm25.search(title, MAX_RANK).some((found) => found.index === index);
  });
}

const MARKS = ['<!-- generated figures begin -->', '<!-- generated figures end -->'] as const;

async function main([folder = 'data/mini-wiki', seed = String(MINI_WIKI_SEED)]: string[]): Promise<void> {
  const sources = join(folder, 'sources');
  const { passages, questions, numDropped } = makeMiniWiki(readSources(sources), Number(seed));
  await writeFileSafely(join(folder, 'passages.jsonl'), formatPassages(passages));
  await writeFileSafely(join(folder, 'questions.jsonl'), formatQuestions(questions));
  const card = computeCard(passages, questions);
  await writeFileSafely(join(folder, 'card.json'), JSON.stringify(card, null, 2) + '\n');
  const page = join(folder, 'README.md');
  const generated = formatCard(card, sourceVersions(sources));
  await writeFileSafely(page, replaceGenerated(await readFile(page, 'utf8'), MARKS, generated));
  console.log(
    `Wrote ${passages.length} passages and ${questions.length} questions to ${folder}; ${numDropped} drafts dropped.`,
  );
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href)
  await main(process.argv.slice(2));
