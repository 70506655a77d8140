/** Questions with one searched answer: one hop (NQ, TriviaQA, PopQA) and chains (HotpotQA, 2Wiki, MuSiQue, Bamboogle). */
import { rollup, sum } from 'd3-array';
import type { Random } from '../../../random.js';
import type { Split } from '../entities.js';
import {
  answersOf,
  askedEntities,
  chainGraph,
  containsAnswer,
  walk,
  type Draft,
  type Wiki,
} from './graph.js';
import { CHAINS, RELATIONS } from './templates.js';

/** The largest share that one answer may have within a template and benchmark. */
const MAX_ANSWER_SHARE: Record<Split, number> = { train: 0.18, dev: 0.34, test: 0.13 };
/** A template with fewer answers than this is left out of a split: naming any of them would be a good guess. */
const MIN_ANSWERS: Record<Split, number> = { train: 5, dev: 1, test: 5 };
/** How many times its even share a template may take when others run out. */
const SURPLUS = 2;

export interface Quota {
  benchmark: string;
  split: Split;
  count: number;
  random: Random;
}

/** A template as one benchmark words it. */
interface Template {
  name: string;
  /** The type of the first entity and the attributes that lead to the answer. */
  path: string;
  wordings: readonly string[];
  /** The benchmark's own type of question. */
  questionType: string;
}

/** One-hop questions, spread over all relations. */
export function oneHopDrafts(wiki: Wiki, quota: Quota & { benchmark: 'nq' | 'triviaqa' | 'popqa' }): Draft[] {
  const templates = Object.entries(RELATIONS).map(([path, relation]) => ({
    name: path.replace('.', '-'),
    path,
    wordings: relation[quota.benchmark],
    questionType: 'single_hop',
  }));
  return takeTurns(wiki, templates, quota);
}

/** Chains of so many hops; `inference` asks for 2Wiki's composed relations or for all others. */
export function chainDrafts(
  wiki: Wiki,
  quota: Quota,
  { hops, type, inference }: { hops: number; type: string; inference?: boolean },
): Draft[] {
  const templates = Object.entries(CHAINS)
    .filter(([, { path }]) => path.split('.').length === hops + 1)
    .filter(([, chain]) => inference === undefined || inference === (chain.inference ?? false))
    .map(([name, { path, wordings }]) => ({ name, path, wordings, questionType: type }));
  return takeTurns(wiki, templates, quota);
}

/** Drafts of all templates in turn, until there are enough or none is left. */
function takeTurns(wiki: Wiki, templates: readonly Template[], quota: Quota): Draft[] {
  const share = quota.count / templates.length;
  let open = templates.map((template) => draftQueue(wiki, template, quota, share));
  const drafts: Draft[] = [];
  while (drafts.length < quota.count && open.length > 0) {
    open = open.filter((queue) => {
      if (drafts.length >= quota.count) return true;
      const draft = queue.find(({ question }) => !wiki.written.has(question));
      if (!draft) return false;
      wiki.written.add(draft.question);
      return drafts.push(draft);
    });
  }
  return drafts;
}

/** The drafts of one template, in random order and with no answer too frequent. */
function draftQueue(wiki: Wiki, template: Template, quota: Quota, share: number): Draft[] {
  const { benchmark, split } = quota;
  const random = quota.random.fork(`${template.name}/${benchmark}/${split}`);
  const [type, ...path] = template.path.split('.');
  const drafts = random.shuffle(askedEntities(wiki, type, split)).flatMap((start): Draft[] => {
    const steps = walk(wiki, start, path, random);
    if (!steps) return [];
    const year = steps.map(({ attribute }) => attribute.split(' ')[1]).find(Boolean) ?? '';
    const question = random.choice(template.wordings).replace('{e}', start.title).replace('{y}', year);
    const { entity, attribute } = steps[steps.length - 1];
    const goldenAnswers = answersOf(entity.facts[attribute]);
    const later = steps.slice(1).map(({ entity }) => entity.title);
    if (containsAnswer(question, [...later, ...goldenAnswers])) return [];
    return [
      {
        benchmark,
        type: template.questionType,
        template: template.name,
        split,
        question,
        goldenAnswers,
        graph: chainGraph(wiki, steps),
        operation: null,
        named: [start.title],
      },
    ];
  });
  if (new Set(drafts.map(firstAnswer)).size < MIN_ANSWERS[split]) return [];
  return withCappedAnswers(drafts, Math.ceil(SURPLUS * share), MAX_ANSWER_SHARE[split]);
}

const firstAnswer = ({ goldenAnswers }: Draft): string => goldenAnswers[0];

/**
 * The most drafts, up to `count`, of which no answer has more than `maxShare` (or more than one, where answers are few).
 * Every answer comes once before any comes twice, so that what is taken from the front is even as well.
 */
function withCappedAnswers(drafts: readonly Draft[], count: number, maxShare: number): Draft[] {
  const counts = [...rollup(drafts, (some) => some.length, firstAnswer).values()];
  const capOf = (total: number): number => Math.max(1, Math.floor(maxShare * total));
  const available = (cap: number): number => sum(counts, (n) => Math.min(n, cap));
  let total = Math.min(count, drafts.length);
  while (total > 0 && available(capOf(total)) < total) total -= 1;
  const used = new Map<string, number>();
  const rounds = drafts.map((draft) => {
    const round = (used.get(firstAnswer(draft)) ?? 0) + 1;
    used.set(firstAnswer(draft), round);
    return { draft, round };
  });
  return rounds
    .filter(({ round }) => round <= capOf(total))
    .sort((a, b) => a.round - b.round)
    .slice(0, total)
    .map(({ draft }) => draft);
}
