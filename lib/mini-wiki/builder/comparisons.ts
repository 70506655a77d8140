/** Comparisons of two to five entities, by order or by sameness, and comparisons at the end of two chains. */
import type { Random } from '../../random.js';
import type { Operation } from '../../data/question.js';
import type { Entity, Split } from './entities.js';
import { chainGraph, containsAnswer, subQuestion, walk, type Draft, type Step, type Wiki } from './graph.js';
import { listable } from './names.js';
import { listed } from './passages.js';
import { askedEntities } from './single-answers.js';
import {
  BRIDGE_COMPARISONS,
  ORDERS,
  SAMES,
  type BridgeComparisonTemplate,
  type OrderTemplate,
  type SameTemplate,
} from './comparison-templates.js';

const MAX_ATTEMPTS = 400;

export interface ComparisonQuota {
  split: Split;
  size: number;
  /** Comparisons by order, and by sameness (rounded to even). */
  numOrders: number;
  numSames: number;
  random: Random;
}

/** All comparisons of one size and split; HotpotQA and 2Wiki take turns. */
export function comparisonDrafts(wiki: Wiki, quota: ComparisonQuota): Draft[] {
  const turn = turns(quota.size, quota.random.fork(`turns/${quota.split}/${quota.size}`));
  const orders = shares(ORDERS, quota.numOrders).flatMap(([template, count]) =>
    orderDrafts(wiki, template, { ...quota, count, turn }),
  );
  const feasible = SAMES.filter((template) => valueGroups(wiki, template, quota).length >= 3);
  const sames = shares(feasible, quota.numSames / 2).flatMap(([template, pairs]) =>
    sameDrafts(wiki, template, { ...quota, count: 2 * pairs }),
  );
  return [...orders, ...sames].map((draft, index) => ({
    ...draft,
    benchmark: Math.floor(index / 2) % 2 === 0 ? 'hotpotqa' : '2wikimultihopqa',
  }));
}

/** Divides a total by weights into whole numbers (largest remainder). */
function shares<T extends { weight: number }>(templates: readonly T[], total: number): [T, number][] {
  const sum = templates.reduce((all, { weight }) => all + weight, 0);
  const exact = templates.map(({ weight }) => (weight / sum) * total);
  const counts = exact.map(Math.floor);
  const byRemainder = exact.map((x, i) => [x - counts[i], i]).sort((a, b) => b[0] - a[0]);
  const missing = total - counts.reduce((all, count) => all + count, 0);
  for (const [, index] of byRemainder.slice(0, missing)) counts[index] += 1;
  return templates.map((template, index) => [template, counts[index]]);
}

type Turn = { kind: 'argmin' | 'argmax'; position: number };

/** Every direction with every position of the gold answer, in random order, again and again. */
function turns(size: number, random: Random): () => Turn {
  const all = Array.from({ length: 2 * size }, (_, i): Turn => ({
    kind: i % 2 ? 'argmax' : 'argmin',
    position: i >> 1,
  }));
  return deck(all, random);
}

type SizedQuota = ComparisonQuota & { count: number };

interface Compared {
  type: string;
  attribute: string;
  maximum?: number;
}

function comparable(wiki: Wiki, { type, attribute, maximum = Infinity }: Compared, split: Split): Entity[] {
  return askedEntities(wiki, type, split).filter(
    ({ facts, title }) => facts[attribute] && listable(title) && (facts[attribute].number ?? 0) <= maximum,
  );
}

/** Position of the gold answer and direction take turns, so that neither gives the answer away. */
function orderDrafts(wiki: Wiki, template: OrderTemplate, quota: SizedQuota & { turn: () => Turn }): Draft[] {
  const { split, size, count, random } = quota;
  const own = random.fork(`${template.type}.${template.attribute}/${split}/${size}`);
  const numberOf = (entity: Entity): number => entity.facts[template.attribute].number ?? 0;
  const draw = deck(comparable(wiki, template, split), own);
  const drafts: Draft[] = [];
  for (let i = 0; i < count; i++) {
    const chosen = drawDistinct(draw, size, numberOf);
    if (!chosen) break;
    const { kind, position } = quota.turn();
    chosen.sort((a, b) => (kind === 'argmin' ? numberOf(a) - numberOf(b) : numberOf(b) - numberOf(a)));
    const [gold, ...others] = chosen;
    const entities = own.shuffle(others);
    entities.splice(position, 0, gold);
    const ofTwo = kind === 'argmin' ? template.argminOfTwo : template.argmaxOfTwo;
    const wordings =
      size === 2
        ? [...template[kind].filter((text) => !/est\b|most|least/.test(text)), ...ofTwo]
        : template[kind];
    drafts.push(
      comparisonDraft(wiki, entities, {
        split,
        attribute: template.attribute,
        kind,
        wording: own.choice(wordings),
        goldenAnswers: [gold.title],
        type: 'comparison',
        template: `${kind}-${template.type}-${template.attribute}`,
      }),
    );
  }
  return drafts;
}

/** Deals items from a shuffled deck, which is shuffled anew when it is used up. */
function deck<T>(items: readonly T[], random: Random): () => T {
  let cards: T[] = [];
  return () => {
    if (cards.length === 0) cards = random.shuffle(items);
    const card = cards.pop();
    if (card === undefined) throw new Error('Expected a deck with items, but it is empty.');
    return card;
  };
}

function drawDistinct(
  draw: () => Entity,
  size: number,
  valueOf: (entity: Entity) => number,
): Entity[] | null {
  const chosen: Entity[] = [];
  for (let attempt = 0; attempt < MAX_ATTEMPTS && chosen.length < size; attempt++) {
    const entity = draw();
    if (chosen.every((other) => other !== entity && valueOf(other) !== valueOf(entity))) chosen.push(entity);
  }
  return chosen.length === size ? chosen : null;
}

/** Groups of entities with one value, each large enough for a "yes" of this size. */
function valueGroups(wiki: Wiki, template: SameTemplate, { split, size }: ComparisonQuota): Entity[][] {
  const groups = new Map<string, Entity[]>();
  for (const entity of comparable(wiki, template, split)) {
    const value = entity.facts[template.attribute].value;
    groups.set(value, [...(groups.get(value) ?? []), entity]);
  }
  return [...groups.values()].filter((group) => group.length >= size);
}

/** Yes and no in turn; a "no" of three or more has one stranger in half of the cases. */
function sameDrafts(wiki: Wiki, template: SameTemplate, quota: SizedQuota): Draft[] {
  const { split, size, count, random } = quota;
  const own = random.fork(`same.${template.type}.${template.attribute}/${split}/${size}`);
  const groups = valueGroups(wiki, template, quota);
  const seen = new Set<string>();
  const drafts: Draft[] = [];
  for (let attempt = 0; attempt < MAX_ATTEMPTS * count && drafts.length < count; attempt++) {
    const isSame = drafts.length % 2 === 0;
    const entities = own.shuffle(isSame ? sampleSame(groups, size, own) : sampleDifferent(groups, size, own));
    const key = String(entities.map(({ title }) => title).sort());
    if (seen.has(key)) continue;
    seen.add(key);
    drafts.push(
      comparisonDraft(wiki, entities, {
        split,
        attribute: template.attribute,
        kind: 'same',
        wording: own.choice(size === 2 ? template.wordingsOfTwo : template.wordings),
        goldenAnswers: [isSame ? 'yes' : 'no'],
        type: 'comparison',
        template: `same-${template.type}-${template.attribute}`,
      }),
    );
  }
  return drafts.slice(0, drafts.length - (drafts.length % 2));
}

function sampleSame(groups: Entity[][], size: number, random: Random): Entity[] {
  return random.shuffle(random.choice(groups)).slice(0, size);
}

function sampleDifferent(groups: Entity[][], size: number, random: Random): Entity[] {
  const [first, second, ...rest] = random.shuffle(groups);
  if (size === 2 || random.uniform() < 0.5) {
    return [...random.shuffle(first).slice(0, size - 1), random.choice(second)];
  }
  const others = [second, ...rest].flat();
  const numFirst = 1 + random.integer(size - 2);
  return [...random.shuffle(first).slice(0, numFirst), ...random.shuffle(others).slice(0, size - numFirst)];
}

interface ComparisonOptions {
  split: Split;
  attribute: string;
  kind: Operation['kind'];
  wording: string;
  goldenAnswers: string[];
  type: string;
  template: string;
}

function comparisonDraft(wiki: Wiki, entities: Entity[], options: ComparisonOptions): Draft {
  const { attribute, kind, wording, ...rest } = options;
  return {
    ...rest,
    benchmark: '2wikimultihopqa',
    question: comparisonWording(wording, entities),
    graph: entities.map((entity, index) => subQuestion(wiki, { entity, attribute }, `q${index + 1}`)),
    operation: { kind, attribute },
    named: entities.map(({ title }) => title),
  };
}

function comparisonWording(wording: string, entities: readonly Entity[]): string {
  const titles = entities.map(({ title }) => title);
  return wording
    .replace('{or}', listed(titles, 'or'))
    .replace('{and}', listed(titles, 'and'))
    .replace('{a}', titles[0])
    .replace('{b}', titles[1]);
}

/** Bridge comparisons of 2Wiki: two chains of two hops, then a comparison. */
export function bridgeComparisonDrafts(
  wiki: Wiki,
  quota: { split: Split; count: number; random: Random },
): Draft[] {
  const weighted = BRIDGE_COMPARISONS.map((template) => ({ weight: 1, template }));
  return shares(weighted, Math.floor(quota.count / 2)).flatMap(([{ template }, pairs]) =>
    bridgeDrafts(wiki, template, { ...quota, count: 2 * pairs }),
  );
}

function bridgeDrafts(
  wiki: Wiki,
  template: BridgeComparisonTemplate,
  { split, count, random }: { split: Split; count: number; random: Random },
): Draft[] {
  const own = random.fork(`bridge.${template.id}/${split}`);
  const { path } = template;
  const chains = askedEntities(wiki, template.type, split)
    .filter(({ title }) => listable(title))
    .map((start) => walk(wiki, start, { path, random: own }))
    .filter((steps): steps is Step[] => steps !== null)
    .filter(([first, second]) => !containsAnswer(first.entity.title, [second.entity.title]));
  const drafts: Draft[] = [];
  for (let attempt = 0; attempt < MAX_ATTEMPTS * count && drafts.length < count; attempt++) {
    const pair = own.shuffle(chains).slice(0, 2);
    const [a, b] = pair.map((steps) => steps[1].entity.facts[path[1]]);
    const kind = template.kinds[Math.floor(drafts.length / 2) % template.kinds.length];
    const isFirst = drafts.length % 2 === 0;
    const wanted =
      kind === 'same' ? (a.value === b.value) === isFirst : isFirst === firstWins(kind, [a.number, b.number]);
    if (!wanted || (kind !== 'same' && a.number === b.number) || pair[0][0].entity === pair[1][0].entity)
      continue;
    const entities = pair.map((steps) => steps[0].entity);
    const answer = kind === 'same' ? (isFirst ? 'yes' : 'no') : entities[isFirst ? 0 : 1].title;
    drafts.push({
      benchmark: '2wikimultihopqa',
      type: 'bridge_comparison',
      template: `${kind}-${template.id}`,
      split,
      question: comparisonWording(own.choice(template[kind]), entities),
      goldenAnswers: [answer],
      graph: [...chainGraph(wiki, pair[0]), ...chainGraph(wiki, pair[1], 3)],
      operation: { kind, attribute: path[1] },
      named: entities.map(({ title }) => title),
    });
  }
  return drafts;
}

function firstWins(kind: 'argmin' | 'argmax', [a = 0, b = 0]: (number | undefined)[]): boolean {
  return kind === 'argmin' ? a < b : a > b;
}
