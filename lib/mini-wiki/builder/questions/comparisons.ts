/** Comparisons of two to five entities, by order or by sameness, and comparisons at the end of two chains. */
import { group, sum } from 'd3-array';
import type { Operation } from '../../../data/question.js';
import type { Random } from '../../../random.js';
import type { Entity, Fact, Split } from '../entities.js';
import { listable, listed } from '../names.js';
import {
  BRIDGE_COMPARISONS,
  ORDERS,
  SAMES,
  type BridgeTemplate,
  type OrderTemplate,
  type SameTemplate,
} from './comparison-templates.js';
import {
  askedEntities,
  chainGraph,
  containsAnswer,
  subQuestion,
  walk,
  type Draft,
  type Step,
  type Wiki,
} from './graph.js';

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
  const { size, split, random, numOrders, numSames } = quota;
  const turn = deck(turnsOf(size), random.fork(`turns/${split}/${size}`));
  const orders = shares(Object.entries(ORDERS), numOrders).flatMap(([[fact, template], count]) =>
    orderDrafts(wiki, fact, template, { ...quota, count, turn }),
  );
  const feasible = Object.entries(SAMES).filter(([fact]) => valueGroups(wiki, fact, quota).length >= 3);
  const sames = shares(feasible, numSames / 2).flatMap(([[fact, template], pairs]) =>
    sameDrafts(wiki, fact, template, { ...quota, count: 2 * pairs }),
  );
  return [...orders, ...sames].map((draft, index) => ({
    ...draft,
    benchmark: Math.floor(index / 2) % 2 === 0 ? 'hotpotqa' : '2wikimultihopqa',
  }));
}

/** Divides a total by weights into whole numbers (largest remainder). */
function shares<T extends { weight?: number }>(
  templates: readonly [string, T][],
  total: number,
): [[string, T], number][] {
  const all = sum(templates, ([, { weight = 1 }]) => weight);
  const exact = templates.map(([, { weight = 1 }]) => (weight / all) * total);
  const counts = exact.map(Math.floor);
  const byRemainder = exact.map((x, i) => [x - counts[i], i]).sort((a, b) => b[0] - a[0]);
  for (const [, index] of byRemainder.slice(0, total - sum(counts))) counts[index] += 1;
  return templates.map((template, index) => [template, counts[index]]);
}

type Order = 'argmin' | 'argmax';
type Turn = { kind: Order; position: number };

/** Every direction with every position of the gold answer. */
const turnsOf = (size: number): Turn[] =>
  Array.from({ length: 2 * size }, (_, i) => ({ kind: i % 2 ? 'argmax' : 'argmin', position: i >> 1 }));

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

type SizedQuota = ComparisonQuota & { count: number };

/** Entities of a split that have a fact, which is `type.attribute`, and whose names can be listed. */
function comparable(wiki: Wiki, fact: string, split: Split, maximum = Infinity): Entity[] {
  const [type, attribute] = fact.split('.');
  return askedEntities(wiki, type, split).filter(
    ({ facts, title }) => facts[attribute] && listable(title) && (facts[attribute].number ?? 0) <= maximum,
  );
}

/** Position of the gold answer and direction take turns, so that neither gives the answer away. */
function orderDrafts(
  wiki: Wiki,
  fact: string,
  template: OrderTemplate,
  { split, size, count, random, turn }: SizedQuota & { turn: () => Turn },
): Draft[] {
  const own = random.fork(`${fact}/${split}/${size}`);
  const [, attribute] = fact.split('.');
  const numberOf = ({ facts }: Entity): number => facts[attribute].number ?? 0;
  const draw = deck(comparable(wiki, fact, split, template.maximum), own);
  const drafts: Draft[] = [];
  for (let i = 0; i < count; i++) {
    const chosen = drawDistinct(draw, size, numberOf);
    if (!chosen) break;
    const { kind, position } = turn();
    chosen.sort((a, b) => (kind === 'argmin' ? numberOf(a) - numberOf(b) : numberOf(b) - numberOf(a)));
    const [gold, ...others] = chosen;
    const entities = own.shuffle(others);
    entities.splice(position, 0, gold);
    const wordings =
      size === 2
        ? [...template[kind].filter((text) => !/est\b|most|least/.test(text)), ...template[`${kind}OfTwo`]]
        : template[kind];
    drafts.push(
      comparisonDraft(wiki, entities, {
        split,
        fact,
        kind,
        wording: own.choice(wordings),
        answer: gold.title,
      }),
    );
  }
  return drafts;
}

/** So many entities of different values; null where the deck seems to hold fewer. */
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
function valueGroups(
  wiki: Wiki,
  fact: string,
  { split, size }: Pick<ComparisonQuota, 'split' | 'size'>,
): Entity[][] {
  const [, attribute] = fact.split('.');
  const groups = group(comparable(wiki, fact, split), ({ facts }) => facts[attribute].value);
  return [...groups.values()].filter((some) => some.length >= size);
}

/** Yes and no in turn; a "no" of three or more has one stranger in half of the cases. */
function sameDrafts(
  wiki: Wiki,
  fact: string,
  template: SameTemplate,
  { split, size, count, random }: SizedQuota,
): Draft[] {
  const own = random.fork(`same.${fact}/${split}/${size}`);
  const groups = valueGroups(wiki, fact, { split, size });
  const seen = new Set<string>();
  const drafts: Draft[] = [];
  for (let attempt = 0; attempt < MAX_ATTEMPTS * count && drafts.length < count; attempt++) {
    const isSame = drafts.length % 2 === 0;
    const entities = own.shuffle(isSame ? sampleSame(groups, size, own) : sampleDifferent(groups, size, own));
    const key = String(entities.map(({ title }) => title).sort());
    if (seen.has(key)) continue;
    seen.add(key);
    const wording = own.choice(size === 2 ? template.ofTwo : template.ofMore);
    drafts.push(
      comparisonDraft(wiki, entities, { split, fact, kind: 'same', wording, answer: isSame ? 'yes' : 'no' }),
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

interface Comparison {
  split: Split;
  /** `type.attribute` */
  fact: string;
  kind: Operation['kind'];
  wording: string;
  answer: string;
}

function comparisonDraft(
  wiki: Wiki,
  entities: Entity[],
  { split, fact, kind, wording, answer }: Comparison,
): Draft {
  const [type, attribute] = fact.split('.');
  return {
    benchmark: '2wikimultihopqa',
    type: 'comparison',
    template: `${kind}-${type}-${attribute}`,
    split,
    question: comparisonWording(wording, entities),
    goldenAnswers: [answer],
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
  { count, ...quota }: { split: Split; count: number; random: Random },
): Draft[] {
  return shares(Object.entries(BRIDGE_COMPARISONS), Math.floor(count / 2)).flatMap(
    ([[name, template], pairs]) => bridgeDrafts(wiki, name, template, { ...quota, count: 2 * pairs }),
  );
}

function bridgeDrafts(
  wiki: Wiki,
  name: string,
  template: BridgeTemplate,
  { split, count, random }: { split: Split; count: number; random: Random },
): Draft[] {
  const own = random.fork(`bridge.${name}/${split}`);
  const [type, ...path] = template.path.split('.');
  const attribute = path[1];
  const kinds = (['argmin', 'argmax', 'same'] as const).filter((kind) => template[kind]);
  const chains = askedEntities(wiki, type, split)
    .filter(({ title }) => listable(title))
    .map((start) => walk(wiki, start, path, own))
    .filter((steps): steps is Step[] => steps !== null)
    .filter(([first, second]) => !containsAnswer(first.entity.title, [second.entity.title]));
  const drafts: Draft[] = [];
  for (let attempt = 0; attempt < MAX_ATTEMPTS * count && drafts.length < count; attempt++) {
    const pair = own.shuffle(chains).slice(0, 2);
    const entities = pair.map(([first]) => first.entity);
    const facts = pair.map(([, second]) => second.entity.facts[attribute]);
    const kind = kinds[Math.floor(drafts.length / 2) % kinds.length];
    const titles = entities.map(({ title }) => title);
    // Yes and no take turns, and so do the entity named first and the other one.
    const answer = (kind === 'same' ? ['yes', 'no'] : titles)[drafts.length % 2];
    if (answer !== bridgeAnswer(kind, facts, titles)) continue;
    drafts.push({
      benchmark: '2wikimultihopqa',
      type: 'bridge_comparison',
      template: `${kind}-${name}`,
      split,
      question: comparisonWording(own.choice(template[kind]!), entities),
      goldenAnswers: [answer],
      graph: [...chainGraph(wiki, pair[0]), ...chainGraph(wiki, pair[1], 3)],
      operation: { kind, attribute },
      named: titles,
    });
  }
  return drafts;
}

/** What two facts say; undefined for a tie. */
function bridgeAnswer(
  kind: Operation['kind'],
  [a, b]: readonly Fact[],
  [first, second]: readonly string[],
): string | undefined {
  if (kind === 'same') return a.value === b.value ? 'yes' : 'no';
  if (a.number === b.number) return undefined;
  return (kind === 'argmin') === (a.number ?? 0) < (b.number ?? 0) ? first : second;
}
