/**
 * Makes a world of invented things: articles of six passages each, one for each fact and
 * others that answer nothing.
 */
import { range } from 'd3-array';
import type { Passage } from '../../lib/data/passage.js';
import type { Random } from '../../lib/random.js';
import { KINDS, SPECS, type Kind } from './kinds.js';
import { createNamer, type NameSort } from './names.js';

/** No links between splits; `kept` is reserved for test questions. */
const SPLITS = ['train', 'dev', 'kept'] as const;
export type Split = (typeof SPLITS)[number];

interface Fact {
  value: string;
  /** The thing that the value names, if any. */
  thing?: Thing;
  passageId: string;
}

export interface Thing {
  name: string;
  kind: Kind;
  split: Split;
  facts: Record<string, Fact>;
}

export interface World {
  things: Thing[];
  passages: Passage[];
}

/** Number of things of each kind per unit of size. */
const SHARES: Readonly<Record<Kind, number>> = {
  film: 3,
  novel: 3,
  album: 3,
  director: 2,
  novelist: 2,
  singer: 2,
  company: 1,
  city: 1,
  country: 0.2,
};
const PASSAGES_PER_ARTICLE = 6;
/** Share of the names of works and people that a thing of another kind already has. */
const SHARED_NAMES = 0.2;

/** Values of years and of other numbers; each is one token of the small policy. */
export const YEARS = range(1900, 2020);
export const NUMBERS = range(60, 240);

type Namer = ReturnType<typeof createNamer>;

/** Creates the things of a split, with names and without facts. */
function nameThings(split: Split, size: number, namer: Namer, random: Random): Thing[] {
  const free = new Map<NameSort, string[]>();
  return KINDS.flatMap((kind) => {
    const sort = SPECS[kind].names;
    const others = free.get(sort) ?? [];
    const names = range(Math.ceil(SHARES[kind] * size)).map(() =>
      others.length > 0 && random.uniform() < SHARED_NAMES
        ? others.splice(random.integer(others.length), 1)[0]
        : namer(sort, random),
    );
    free.set(sort, [...others, ...names]);
    return names.map((name): Thing => ({ name, kind, split, facts: {} }));
  });
}

const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => values[name]);

/** Gives a thing its facts, and returns the texts of its article, facts first. */
function writeArticle(thing: Thing, ofKind: ReadonlyMap<Kind, Thing[]>, random: Random): string[] {
  const { kind } = thing;
  const { attributes, asides } = SPECS[kind];
  const year = (): string => String(random.choice(YEARS));
  const number = (): string => String(random.choice(NUMBERS));
  const facts = Object.entries(attributes).map(([name, { value, said }]) => {
    const isThing = typeof value === 'string' && value !== 'year' && value !== 'number';
    const other = isThing ? random.choice(ofKind.get(value)!) : undefined;
    const draw = (): string => {
      if (value === 'year') return year();
      return value === 'number' ? number() : random.choice(value as readonly string[]);
    };
    const text = other?.name ?? draw();
    thing.facts[name] = { value: text, passageId: '', ...(other && { thing: other }) };
    return fill(random.choice(said), { kind, v: text });
  });
  const chosen = random.shuffle(asides).slice(0, PASSAGES_PER_ARTICLE - facts.length);
  const others = chosen.map((aside) => fill(aside, { kind, year: year(), number: number() }));
  return [...facts, ...others];
}

/** @param sizes of each split: 1 makes 17 things */
export function makeWorld(random: Random, sizes: Readonly<Partial<Record<Split, number>>>): World {
  const namer = createNamer();
  const drafts: { thing: Thing; attribute?: string; text: string }[] = [];
  const things: Thing[] = [];
  for (const split of SPLITS) {
    const own = nameThings(split, sizes[split] ?? 0, namer, random.fork(`names ${split}`));
    const ofKind = new Map(KINDS.map((kind) => [kind, own.filter((thing) => thing.kind === kind)]));
    const writing = random.fork(`articles ${split}`);
    for (const thing of own) {
      const attributes = Object.keys(SPECS[thing.kind].attributes);
      writeArticle(thing, ofKind, writing).forEach((text, i) =>
        drafts.push({ thing, attribute: attributes[i], text }),
      );
    }
    things.push(...own);
  }
  const passages = random
    .fork('order')
    .shuffle(drafts)
    .map(({ thing, attribute, text }, i): Passage => {
      const id = `p${i + 1}`;
      if (attribute) thing.facts[attribute].passageId = id;
      return { id, contents: `${thing.name}\n${text}`, title: thing.name, text };
    });
  return { things, passages };
}
