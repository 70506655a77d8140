/**
 * Builds the mini-wiki from its source packages: `node dist/data/mini-wiki/build.js [folder] [seed]`, where `folder`
 * (data/mini-wiki) holds sources/ with its packages installed. The same sources and seed give the same files.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRandom, type Random } from '../../random.js';
import { formatPassages, formatQuestions, parsePassages } from '../../data/flashrag.js';
import type { Question } from '../../data/question.js';
import { computeCard, formatCard } from './card.js';
import { BRIDGE_COMPARISONS, ORDERS, SAMES } from './comparison-templates.js';
import { bridgeComparisonDrafts, comparisonDrafts } from './comparisons.js';
import { buildEntities, type Entity, type EntityMap, type Split } from './entities.js';
import { lexicalRanker } from './findable.js';
import type { Draft, Wiki } from './graph.js';
import { normaliseName, phrasesOf } from './names.js';
import { writePassage } from './passages.js';
import { chainDrafts, oneHopDrafts } from './single-answers.js';
import { readSources, sourceVersions, type Sources } from './sources.js';
import { CHAINS, RELATIONS } from './templates.js';

export const MINI_WIKI_SEED = 20250812;
/** How far down the ranking for its title an asked entity's passage may stand. */
const MAX_RANK = 2;

/** Questions a split: each one-hop benchmark, chains by benchmark, comparisons by number of entities. */
// prettier-ignore
const PLAN: Record<Split, SplitPlan> = {
  train: {
    oneHop: 600, hotpotqa: 620, inference: 250, compositional: 270, bamboogle: 370, musique: { 2: 340, 3: 300, 4: 180 },
    bridgeComparison: 120, orders: { 2: 470, 3: 400, 4: 270, 5: 200 }, sames: { 2: 160, 3: 140, 4: 90, 5: 70 },
  },
  dev: {
    oneHop: 20, hotpotqa: 30, inference: 15, compositional: 15, bamboogle: 20, musique: { 2: 10, 3: 10, 4: 10 },
    bridgeComparison: 12, orders: { 2: 44, 3: 44, 4: 44, 5: 44 }, sames: { 2: 16, 3: 16, 4: 16, 5: 16 },
  },
  test: {
    oneHop: 150, hotpotqa: 150, inference: 75, compositional: 75, bamboogle: 150, musique: { 2: 50, 3: 50, 4: 50 },
    bridgeComparison: 76, orders: { 2: 224, 3: 224, 4: 224, 5: 224 }, sames: { 2: 76, 3: 76, 4: 76, 5: 76 },
  },
};

interface SplitPlan {
  oneHop: number;
  hotpotqa: number;
  inference: number;
  compositional: number;
  bamboogle: number;
  musique: Record<number, number>;
  bridgeComparison: number;
  orders: Record<number, number>;
  sames: Record<number, number>;
}

export interface MiniWiki {
  entities: EntityMap;
  passages: { id: string; contents: string }[];
  questions: Question[];
  /** Drafts left out because their text repeats or shares a name with another split. */
  numDropped: number;
}

/** Makes passages and questions from source rows. */
export function makeMiniWiki(sources: Sources, seed: number): MiniWiki {
  const random = createRandom(seed);
  const entities = buildEntities(sources, random.fork('entities'));
  const titles = random.fork('order').shuffle([...entities.keys()]);
  const passageIds = new Map(titles.map((title, index) => [title, `wiki-${index + 1}`]));
  const writing = random.fork('passages');
  const passages = titles.map((title, index) => ({
    id: `wiki-${index + 1}`,
    contents: `${title}\n${writePassage(entities.get(title)!, writing)}`,
  }));
  titles.forEach((title, index) => dropUnwritten(entities.get(title)!, passages[index].contents));
  leaveOutHidden(entities, titles, passages);
  leaveOutShared(entities);
  const wiki: Wiki = { entities, passageIds, written: new Set() };
  const drafts = (['train', 'dev', 'test'] as const).flatMap((split) =>
    draftsOf(wiki, split, random.fork(`questions/${split}`)),
  );
  const questions = withoutSharedNames(withoutRepeats(drafts));
  return {
    entities,
    passages,
    questions: withIds(random.fork('shuffle').shuffle(questions)),
    numDropped: drafts.length - questions.length,
  };
}

/** A fact that the chosen phrasing leaves out cannot be asked for. */
function dropUnwritten(entity: Entity, contents: string): void {
  for (const [attribute, { value }] of Object.entries(entity.facts)) {
    if (!contents.includes(value)) delete entity.facts[attribute];
  }
}

/** What a lexical search for the title does not bring up is never asked about. */
function leaveOutHidden(entities: EntityMap, titles: string[], passages: { contents: string }[]): void {
  const rank = lexicalRanker(passages.map(({ contents }) => contents));
  titles.forEach((title, index) => {
    const entity = entities.get(title);
    if (entity?.asked && !rank(title, MAX_RANK).includes(index)) entity.asked = false;
  });
}

/** A name that is part of a name in another split, or of the wording of questions, is never asked about. */
function leaveOutShared(entities: EntityMap): void {
  const asked = [...entities.values()].filter((entity) => entity.asked);
  const byName = new Map(asked.map((entity) => [normaliseName(entity.title), entity]));
  const wordings = phrasesOf(
    [
      ...RELATIONS.flatMap((r) => [...r.nq, ...r.trivia, ...r.popqa]),
      JSON.stringify([CHAINS, ORDERS, SAMES, BRIDGE_COMPARISONS]),
    ].join(' '),
  );
  for (const [name, entity] of byName) if (wordings.has(name)) entity.asked = false;
  for (const outer of asked) {
    for (const phrase of phrasesOf(outer.title)) {
      const inner = byName.get(phrase);
      if (inner && inner.split !== outer.split) (outer.split === 'test' ? inner : outer).asked = false;
    }
  }
}

function draftsOf(wiki: Wiki, split: Split, random: Random): Draft[] {
  const plan = PLAN[split];
  const quota = (benchmark: string, count: number) => ({ benchmark, split, count, random });
  const wiki2 = '2wikimultihopqa';
  return [
    ...['nq', 'triviaqa', 'popqa'].flatMap((benchmark) => oneHopDrafts(wiki, quota(benchmark, plan.oneHop))),
    ...chainDrafts(wiki, quota('hotpotqa', plan.hotpotqa), { hops: 2, type: 'bridge' }),
    ...chainDrafts(wiki, quota(wiki2, plan.inference), { hops: 2, type: 'inference', inference: true }),
    ...chainDrafts(wiki, quota(wiki2, plan.compositional), {
      hops: 2,
      type: 'compositional',
      inference: false,
    }),
    ...chainDrafts(wiki, quota('bamboogle', plan.bamboogle), { hops: 2, type: '2hop' }),
    ...[2, 3, 4].flatMap((hops) =>
      chainDrafts(wiki, quota('musique', plan.musique[hops]), { hops, type: `${hops}hop` }),
    ),
    ...bridgeComparisonDrafts(wiki, { split, count: plan.bridgeComparison, random }),
    ...[2, 3, 4, 5].flatMap((size) =>
      comparisonDrafts(wiki, {
        split,
        size,
        numOrders: plan.orders[size],
        numSames: plan.sames[size],
        random,
      }),
    ),
  ];
}

function withoutRepeats(drafts: Draft[]): Draft[] {
  const seen = new Set<string>();
  return drafts.filter(({ question }) => !seen.has(question) && seen.add(question));
}

/** Drops a train or dev question whose names occur in the text of a later split's questions, or the other way round. */
function withoutSharedNames(drafts: Draft[]): Draft[] {
  const heldOut = (splits: Split[]): { names: Set<string>; phrases: Set<string> } => {
    const questions = drafts.filter(({ split }) => splits.includes(split));
    return {
      names: new Set(questions.flatMap(({ named }) => named.map(normaliseName))),
      phrases: new Set(questions.flatMap(({ question }) => [...phrasesOf(question)])),
    };
  };
  const later = { train: heldOut(['dev', 'test']), dev: heldOut(['test']), test: heldOut([]) };
  return drafts.filter(({ split, question, named }) => {
    const { names, phrases } = later[split];
    if (named.some((name) => phrases.has(normaliseName(name)))) return false;
    return ![...phrasesOf(question)].some((phrase) => names.has(phrase));
  });
}

function withIds(drafts: Draft[]): Question[] {
  const counts = new Map<string, number>();
  return drafts.map(({ benchmark, type, template, split, question, goldenAnswers, graph, operation }) => {
    const series = `${benchmark}-${split}`;
    counts.set(series, (counts.get(series) ?? 0) + 1);
    const metadata = { benchmark, type, template, graph, operation };
    return { id: `${series}-${counts.get(series)}`, question, goldenAnswers, metadata, split };
  });
}

/** Replaces the generated part of the data card's page, between its two markers. */
function writeCardPage(path: string, generated: string): void {
  const page = readFileSync(path, 'utf8');
  const [start, end] = [
    '<!-- generated by lib/data/mini-wiki/build.ts -->',
    '<!-- end of the generated part -->',
  ];
  const before = page.split(start)[0];
  const after = page.split(end)[1];
  if (after === undefined)
    throw new Error(`Expected ${path} to hold the lines ${start} and ${end}; put them back.`);
  writeFileSync(path, `${before}${start}\n\n${generated}\n\n${end}${after}`);
}

function main([folder = 'data/mini-wiki', seed = String(MINI_WIKI_SEED)]: string[]): void {
  const { passages, questions, numDropped } = makeMiniWiki(
    readSources(join(folder, 'sources')),
    Number(seed),
  );
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'passages.jsonl'), formatPassages(passages));
  writeFileSync(join(folder, 'questions.jsonl'), formatQuestions(questions));
  const card = computeCard(parsePassages(formatPassages(passages)), questions);
  writeFileSync(join(folder, 'card.json'), JSON.stringify(card, null, 2) + '\n');
  writeCardPage(join(folder, 'README.md'), formatCard(card, sourceVersions(join(folder, 'sources'))));
  console.log(
    `Wrote ${passages.length} passages and ${questions.length} questions to ${folder}; ${numDropped} drafts dropped.`,
  );
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) main(process.argv.slice(2));
