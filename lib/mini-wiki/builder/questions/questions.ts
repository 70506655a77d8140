/** All questions of the mini-wiki: how many of each kind a split has, and that no name is shared between splits. */
import type { Question } from '../../../data/question.js';
import type { Random } from '../../../random.js';
import type { EntityMap, Split } from '../entities.js';
import { normaliseName, phrasesOf } from '../names.js';
import { BRIDGE_COMPARISONS, ORDERS, SAMES } from './comparison-templates.js';
import { bridgeComparisonDrafts, comparisonDrafts } from './comparisons.js';
import type { Draft, Wiki } from './graph.js';
import { chainDrafts, oneHopDrafts } from './single-answers.js';
import { CHAINS, RELATIONS } from './templates.js';

const SPLITS = ['train', 'dev', 'test'] as const;

/** Questions a split: each one-hop benchmark, chains by benchmark, comparisons by number of entities. */
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

/** The questions of all splits, shuffled, and how many drafts were left out. */
export function writeQuestions(
  entities: EntityMap,
  passageIds: ReadonlyMap<string, string>,
  random: Random,
): { questions: Question[]; numDropped: number } {
  const wiki = { entities, passageIds, written: new Set<string>() };
  const drafts = SPLITS.flatMap((split) => draftsOf(wiki, split, random.fork(`questions/${split}`)));
  const kept = withoutSharedNames(withoutRepeats(drafts));
  return {
    questions: withIds(random.fork('shuffle').shuffle(kept)),
    numDropped: drafts.length - kept.length,
  };
}

function draftsOf(wiki: Wiki, split: Split, random: Random): Draft[] {
  const plan = PLAN[split];
  const quota = <B extends string>(benchmark: B, count: number) => ({ benchmark, split, count, random });
  const inference = quota('2wikimultihopqa', plan.inference);
  const compositional = quota('2wikimultihopqa', plan.compositional);
  return [
    ...(['nq', 'triviaqa', 'popqa'] as const).flatMap((benchmark) =>
      oneHopDrafts(wiki, quota(benchmark, plan.oneHop)),
    ),
    ...chainDrafts(wiki, quota('hotpotqa', plan.hotpotqa), { hops: 2, type: 'bridge' }),
    ...chainDrafts(wiki, inference, { hops: 2, type: 'inference', inference: true }),
    ...chainDrafts(wiki, compositional, { hops: 2, type: 'compositional', inference: false }),
    ...chainDrafts(wiki, quota('bamboogle', plan.bamboogle), { hops: 2, type: '2hop' }),
    ...[2, 3, 4].flatMap((hops) =>
      chainDrafts(wiki, quota('musique', plan.musique[hops]), { hops, type: `${hops}hop` }),
    ),
    ...bridgeComparisonDrafts(wiki, { split, count: plan.bridgeComparison, random }),
    ...[2, 3, 4, 5].flatMap((size) => {
      const [numOrders, numSames] = [plan.orders[size], plan.sames[size]];
      return comparisonDrafts(wiki, { split, size, numOrders, numSames, random });
    }),
  ];
}

function withoutRepeats(drafts: readonly Draft[]): Draft[] {
  const seen = new Set<string>();
  return drafts.filter(({ question }) => !seen.has(question) && seen.add(question));
}

/** Drops a train or dev question whose names occur in the text of a later split's questions, or the other way round. */
function withoutSharedNames(drafts: readonly Draft[]): Draft[] {
  const heldOut = (splits: readonly Split[]): { names: Set<string>; phrases: Set<string> } => {
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

function withIds(drafts: readonly Draft[]): Question[] {
  const counts = new Map<string, number>();
  return drafts.map(({ benchmark, type, template, split, question, goldenAnswers, graph, operation }) => {
    const series = `${benchmark}-${split}`;
    const number = (counts.get(series) ?? 0) + 1;
    counts.set(series, number);
    const metadata = { benchmark, type, template, graph, operation };
    return { id: `${series}-${number}`, question, goldenAnswers, metadata, split };
  });
}

/** A name that is part of a name in another split, or of the wording of questions, is never asked about. */
export function leaveOutSharedNames(entities: EntityMap): void {
  const asked = [...entities.values()].filter((entity) => entity.asked);
  const byName = new Map(asked.map((entity) => [normaliseName(entity.title), entity]));
  const templates = [RELATIONS, CHAINS, ORDERS, SAMES, BRIDGE_COMPARISONS].flatMap(Object.values<object>);
  const wordings = templates
    .flatMap((template) => Object.values(template).filter(Array.isArray))
    .flat() as string[];
  const phrases = new Set(wordings.flatMap((wording) => [...phrasesOf(wording)]));
  for (const [name, entity] of byName) if (phrases.has(name)) entity.asked = false;
  for (const outer of asked) {
    for (const phrase of phrasesOf(outer.title)) {
      const inner = byName.get(phrase);
      if (inner && inner.split !== outer.split) (outer.split === 'test' ? inner : outer).asked = false;
    }
  }
}
