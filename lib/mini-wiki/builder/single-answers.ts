/** Questions with one searched answer: one hop (NQ, TriviaQA, PopQA) and chains (HotpotQA, 2Wiki, MuSiQue, Bamboogle). */
import type { Random } from '../../random.js';
import type { Entity, Split } from './entities.js';
import { answersOf, chainGraph, containsAnswer, walk, type Draft, type Step, type Wiki } from './graph.js';
import { countBy } from './sources.js';
import { CHAINS, RELATIONS, type ChainTemplate, type Relation } from './templates.js';

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

/** Gives the next draft of one template, or null when there is none left. */
type DraftSource = () => Draft | null;

/** One-hop questions, spread over all relations. */
export function oneHopDrafts(wiki: Wiki, quota: Quota): Draft[] {
  const share = quota.count / RELATIONS.length;
  const sources = RELATIONS.map((relation) => relationSource(wiki, relation, { ...quota, share }));
  return roundRobin(sources, quota.count);
}

/** Chains of the given lengths; `inference` asks for 2Wiki's composed relations or for all others. */
export function chainDrafts(
  wiki: Wiki,
  quota: Quota,
  options: { hops: number; type: string; inference?: boolean },
): Draft[] {
  const templates = CHAINS.filter(
    ({ path, inference }) =>
      path.length === options.hops &&
      (options.inference === undefined || options.inference === (inference ?? false)),
  );
  const share = quota.count / templates.length;
  const sources = templates.map((template) =>
    chainSource(wiki, template, { ...quota, share, type: options.type }),
  );
  return roundRobin(sources, quota.count);
}

function roundRobin(sources: DraftSource[], count: number): Draft[] {
  const drafts: Draft[] = [];
  let open = sources;
  while (drafts.length < count && open.length > 0) {
    open = open.filter((source) => {
      if (drafts.length >= count) return true;
      const draft = source();
      if (draft) drafts.push(draft);
      return draft !== null;
    });
  }
  return drafts;
}

type SourceOptions = Quota & { share: number };

function relationSource(wiki: Wiki, relation: Relation, options: SourceOptions): DraftSource {
  const wordings = {
    nq: relation.nq.map((text) => `${text}?`),
    triviaqa: relation.trivia,
    popqa: relation.popqa,
  }[options.benchmark];
  if (!wordings) throw new Error(`Expected benchmark nq, triviaqa or popqa, but got ${options.benchmark}.`);
  return draftSource(
    wiki,
    { path: [relation.attribute], type: relation.type, wordings },
    {
      ...options,
      template: `${relation.type}-${relation.attribute}`,
      questionType: 'single_hop',
    },
  );
}

function chainSource(
  wiki: Wiki,
  template: ChainTemplate,
  options: SourceOptions & { type: string },
): DraftSource {
  return draftSource(wiki, template, { ...options, template: template.id, questionType: options.type });
}

interface TemplateOptions extends SourceOptions {
  template: string;
  questionType: string;
}

/** Deals the drafts of one template, in random order and with no answer too frequent. */
function draftSource(
  wiki: Wiki,
  template: Pick<ChainTemplate, 'path' | 'type' | 'wordings'>,
  options: TemplateOptions,
): DraftSource {
  const { benchmark, split, share, random } = options;
  const own = random.fork(`${options.template}/${benchmark}/${split}`);
  const candidates = own
    .shuffle(askedEntities(wiki, template.type, split))
    .map((start) =>
      draftFrom(wiki, start, { ...options, ...template, template: options.template, random: own }),
    )
    .filter((draft): draft is Draft => draft !== null);
  if (new Set(candidates.map(({ goldenAnswers }) => goldenAnswers[0])).size < MIN_ANSWERS[split])
    return () => null;
  const queue = withCappedAnswers(candidates, {
    count: Math.ceil(SURPLUS * share),
    maxShare: MAX_ANSWER_SHARE[split],
  });
  return () => {
    for (let draft = queue.shift(); draft; draft = queue.shift()) {
      if (wiki.written.has(draft.question)) continue;
      wiki.written.add(draft.question);
      return draft;
    }
    return null;
  };
}

function draftFrom(
  wiki: Wiki,
  start: Entity,
  options: TemplateOptions & Pick<ChainTemplate, 'path' | 'wordings'>,
): Draft | null {
  const { benchmark, split, template, questionType: type, path, wordings, random } = options;
  const steps = walk(wiki, start, { path, random });
  if (!steps) return null;
  const question = chainWording(random.choice(wordings), steps);
  const goldenAnswers = answersOf(lastFact(steps));
  const laterEntities = steps.slice(1).map(({ entity }) => entity.title);
  if (containsAnswer(question, [...laterEntities, ...goldenAnswers])) return null;
  const graph = chainGraph(wiki, steps);
  return {
    benchmark,
    type,
    template,
    split,
    question,
    goldenAnswers,
    graph,
    operation: null,
    named: [start.title],
  };
}

/**
 * The most drafts, up to `count`, of which no answer has more than `maxShare` (or more than one, where answers are few).
 * Every answer comes once before any comes twice, so that what is taken from the front is even as well.
 */
function withCappedAnswers(
  drafts: readonly Draft[],
  { count, maxShare }: { count: number; maxShare: number },
): Draft[] {
  const counts = [...countBy(drafts.map(({ goldenAnswers }) => goldenAnswers[0])).values()];
  const capOf = (total: number): number => Math.max(1, Math.floor(maxShare * total));
  const available = (cap: number): number => counts.reduce((sum, n) => sum + Math.min(n, cap), 0);
  let total = Math.min(count, drafts.length);
  while (total > 0 && available(capOf(total)) < total) total -= 1;
  const used = new Map<string, number>();
  const rounds = drafts.map((draft) => {
    const [answer] = draft.goldenAnswers;
    used.set(answer, (used.get(answer) ?? 0) + 1);
    return { draft, round: used.get(answer) ?? 0 };
  });
  return rounds
    .filter(({ round }) => round <= capOf(total))
    .sort((a, b) => a.round - b.round)
    .slice(0, total)
    .map(({ draft }) => draft);
}

/** Entities of a type and split that questions may name. */
export function askedEntities(wiki: Wiki, type: string, split: Split): Entity[] {
  return [...wiki.entities.values()].filter((e) => e.asked && e.type === type && e.split === split);
}

function lastFact(steps: readonly Step[]): Entity['facts'][string] {
  const { entity, attribute } = steps[steps.length - 1];
  return entity.facts[attribute];
}

function chainWording(wording: string, steps: readonly Step[]): string {
  const year = steps.map(({ attribute }) => attribute.split(' ')[1]).find(Boolean) ?? '';
  return wording.replace('{e}', steps[0].entity.title).replace('{y}', year);
}
