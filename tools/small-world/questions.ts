/**
 * Questions about a world, with their dependency graphs: about one fact, a chain of
 * facts, a comparison, or a comparison of the ends of two chains. A wording is a choice
 * from lists of three phrases: a third of the combinations occurs only in training
 * questions, a third only in dev questions, and a third only in test questions. Every
 * phrase occurs in all of them.
 */
import { group, range } from 'd3-array';
import type { Operation, Question, SubQuestion } from '../../lib/data/question.js';
import type { Random } from '../../lib/random.js';
import { findAttribute, SPECS, type Attribute, type Kind } from './kinds.js';
import type { Split, Thing } from './world.js';

/** The split whose wordings a question has. */
export type Wording = 'train' | 'dev' | 'test';
const WORDINGS: readonly Wording[] = ['train', 'dev', 'test'];

/** A question before it has an id. */
export type Draft = Pick<Question, 'question' | 'goldenAnswers' | 'metadata'>;

const NUM_CHOICES = 3;

/** Choices, one of three each, whose sum determines the split of the wording. */
function choices(count: number, wording: Wording, random: Random): number[] {
  const free = range(count - 1).map(() => random.integer(NUM_CHOICES));
  const last = WORDINGS.indexOf(wording) - free.reduce((a, b) => a + b, 0);
  return [...free, ((last % NUM_CHOICES) + NUM_CHOICES) % NUM_CHOICES];
}

const insert = (text: string, value: string): string => text.replace('{x}', value);
const list = (names: readonly string[], word: 'and' | 'or'): string =>
  `${names.slice(0, -1).join(', ')} ${word} ${names[names.length - 1]}`;
const mention = ({ kind, name }: Thing): string => `the ${kind} ${name}`;

/** An ideal agent's search: name, kind, and the words of either phrasing. */
export const idealQuery = ({ name, kind }: Thing, attribute: string): string =>
  `${name} ${kind} ${findAttribute(kind, attribute).words}`;

/** The sub-question about a fact. */
export function makeNode(
  thing: Thing,
  attribute: string,
  id = 1,
  dependsOn: number[] = [],
): SubQuestion {
  const { openings, clauses } = findAttribute(thing.kind, attribute);
  const { value, passageId } = thing.facts[attribute];
  return {
    id: `q${id}`,
    question: `${openings[0]} ${insert(clauses[0], mention(thing))}?`,
    entity: thing.name,
    attribute,
    query: idealQuery(thing, attribute),
    dependsOn: dependsOn.map((other) => `q${other}`),
    answers: [value],
    evidence: [passageId],
  };
}

/** The thing that a chain of facts leads to. */
const follow = (thing: Thing, attributes: readonly string[]): Thing =>
  attributes.reduce((at, attribute) => at.facts[attribute].thing!, thing);

const chainNodes = (thing: Thing, attributes: readonly string[], firstId: number): SubQuestion[] =>
  attributes.map((attribute, i) => {
    const id = firstId + i;
    return makeNode(follow(thing, attributes.slice(0, i)), attribute, id, i > 0 ? [id - 1] : []);
  });

/** Share of works that are named together with their maker. */
const WITH_MAKER = 0.15;
const MAKERS: Partial<Record<Kind, string>> = {
  film: 'director',
  novel: 'author',
  album: 'singer',
};

function rootMention(thing: Thing, attributes: readonly string[], random: Random): string {
  const maker = MAKERS[thing.kind];
  const isNamed = maker !== undefined && attributes[0] !== maker && random.uniform() < WITH_MAKER;
  return isNamed ? `${mention(thing)} by ${thing.facts[maker].value}` : mention(thing);
}

/** A question about a fact, or about one that a chain of facts leads to. */
function chainQuestion(
  thing: Thing,
  attributes: readonly string[],
  wording: Wording,
  random: Random,
): Draft {
  const [opening, clause, ...phrases] = choices(attributes.length + 1, wording, random);
  const root = rootMention(thing, attributes, random);
  const inner = attributes.slice(0, -1).reduce((x, attribute, i) => {
    const { kind } = follow(thing, attributes.slice(0, i));
    return insert(findAttribute(kind, attribute).phrases![phrases[i]], x);
  }, root);
  const last = attributes[attributes.length - 1];
  const end = follow(thing, attributes.slice(0, -1));
  const { openings, clauses } = findAttribute(end.kind, last);
  return {
    question: `${openings[opening]} ${insert(clauses[clause], inner)}?`,
    goldenAnswers: [end.facts[last].value],
    metadata: {
      template: [thing.kind, ...attributes].join('.'),
      graph: chainNodes(thing, attributes, 1),
      operation: null,
    },
  };
}

const readValue = (thing: Thing, attributes: readonly string[]): string =>
  follow(thing, attributes.slice(0, -1)).facts[attributes[attributes.length - 1]].value;
const readNumber = (thing: Thing, attributes: readonly string[]): number =>
  Number(readValue(thing, attributes));

/** Noun and pronoun for the thing in the middle of two chains. */
const ROLES: Readonly<Record<string, string>> = {
  director: 'director who',
  author: 'author who',
  singer: 'singer who',
  studio: 'producer that',
  publisher: 'publisher that',
  label: 'label that',
};

/** A comparison of things by a fact, or by one that a fact of each leads to. */
function comparison(
  things: readonly Thing[],
  attributes: readonly string[],
  kind: Operation['kind'],
  wording: Wording,
  random: Random,
): Draft {
  const last = attributes[attributes.length - 1];
  const spec = findAttribute(follow(things[0], attributes.slice(0, -1)).kind, last);
  const operation: Operation = { kind, attribute: last };
  const metadata = {
    template: [kind, things[0].kind, ...attributes].join('.'),
    graph: things.flatMap((thing, i) => chainNodes(thing, attributes, 1 + i * attributes.length)),
    operation,
  };
  const [frame, clause] = choices(2, wording, random);
  const sign = kind === 'argmin' ? 1 : -1;
  const best = things.reduce((a, b) =>
    sign * readNumber(b, attributes) < sign * readNumber(a, attributes) ? b : a,
  );
  const own = (kind === 'argmin' ? spec.least : spec.most)![clause];
  const predicate = attributes.length > 1 ? `has the ${ROLES[attributes[0]]} ${own}` : own;
  return {
    question: orderQuestion(things, predicate, frame),
    goldenAnswers: [best.name],
    metadata,
  };
}

function orderQuestion(things: readonly Thing[], predicate: string, frame: number): string {
  const { kind } = things[0];
  const names = things.map(({ name }) => name);
  return [
    `Which ${kind} ${predicate}, ${list(names, 'or')}?`,
    `Of the ${SPECS[kind].plural} ${list(names, 'and')}, which ${predicate}?`,
    `${list(names, 'or')}: which ${kind} ${predicate}?`,
  ][frame];
}

/** All chains with this number of facts that start from a kind. */
function listChains(kind: Kind, length: number): string[][] {
  return Object.entries(SPECS[kind].attributes).flatMap(([name, { value }]) => {
    if (length === 1) return [[name]];
    const isThing = typeof value === 'string' && value in SPECS;
    return isThing ? listChains(value as Kind, length - 1).map((rest) => [name, ...rest]) : [];
  });
}

const ALL_KINDS = Object.keys(SPECS) as Kind[];
const listStarts = (length: number): { kind: Kind; attributes: string[] }[] =>
  ALL_KINDS.flatMap((kind) => listChains(kind, length).map((attributes) => ({ kind, attributes })));

const isOrdered = ({ least }: Attribute): boolean => least !== undefined;
const lastAttribute = (kind: Kind, attributes: readonly string[]): Attribute => {
  const [first, ...rest] = attributes;
  const attribute = findAttribute(kind, first);
  return rest.length > 0 ? lastAttribute(attribute.value as Kind, rest) : attribute;
};
/** Chains and comparisons that exist, by their number of facts. */
const CHAINS = [1, 2, 3, 4].map((length) => listStarts(length));
const ORDERED = [1, 2].map((length) =>
  listStarts(length).filter(
    ({ kind, attributes }) =>
      isOrdered(lastAttribute(kind, attributes)) && (length === 1 || attributes[0] in ROLES),
  ),
);

/** Draws questions about the things of a split. */
export function createQuestionMaker(things: readonly Thing[]) {
  const ofKind = group(things, ({ kind }) => kind);
  const some = (kind: Kind, count: number, random: Random): Thing[] => {
    const pool = ofKind.get(kind)!;
    const drawn = new Set<Thing>();
    while (drawn.size < count) drawn.add(random.choice(pool));
    return [...drawn];
  };
  /** Names in a question must differ, and so must values that are ordered. */
  const differ = (drawn: readonly Thing[], attributes: readonly string[]): boolean =>
    new Set(drawn.map((thing) => readValue(thing, attributes))).size === drawn.length;

  return {
    chain(length: number, wording: Wording, random: Random, kinds?: readonly Kind[]): Draft {
      const starts = CHAINS[length - 1].filter(({ kind }) => !kinds || kinds.includes(kind));
      // Every kind that a chain can start from is equally frequent.
      const kind = random.choice([...new Set(starts.map((start) => start.kind))]);
      const { attributes } = random.choice(starts.filter((start) => start.kind === kind));
      return chainQuestion(random.choice(ofKind.get(kind)!), attributes, wording, random);
    },
    ordered(count: number, length: 1 | 2, wording: Wording, random: Random): Draft {
      for (;;) {
        const { kind, attributes } = random.choice(ORDERED[length - 1]);
        const drawn = some(kind, count, random);
        if (!differ(drawn, attributes)) continue;
        const operation = random.choice(['argmin', 'argmax'] as const);
        return comparison(drawn, attributes, operation, wording, random);
      }
    },
  };
}

export type QuestionMaker = ReturnType<typeof createQuestionMaker>;
export type { Split };
