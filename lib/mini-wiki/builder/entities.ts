/** Turns source rows into entities with facts, links between them and a split. */
import { group, rollup } from 'd3-array';
import type { Random } from '../../random.js';
import { DISPUTED_COUNTRY_FACTS, DISPUTED_ELEMENTS } from './corrections.js';
import { listable, normaliseName, plainName } from './names.js';
import type { Sources } from './sources.js';

export type Split = 'train' | 'dev' | 'test';
// prettier-ignore
export type EntityType =
  | 'film' | 'director' | 'player' | 'college' | 'city' | 'usCity' | 'airport' | 'country' | 'state' | 'element';

/** One fact: the value as the passage writes it, and where it leads. */
export interface Fact {
  value: string;
  /** Other forms that count as right. */
  aliases?: string[];
  /** The value as a number, for comparisons. */
  number?: number;
  /** True when an entity of that title exists, so that a chain can go on from here. */
  linked?: boolean;
}

export interface Entity {
  title: string;
  type: EntityType;
  /** Entities of a group share a split: a director with his films, a country with its cities. */
  group: string;
  split: Split;
  facts: Record<string, Fact>;
  /** False for an entity that stands in the wiki only as a distractor. */
  asked: boolean;
}

export type EntityMap = Map<string, Entity>;

const NUM_FILMS_A_YEAR = 62;
const NUM_CITIES_A_COUNTRY = 10;
const NUM_PLAYERS = 1650;
const SPLIT_SHARES = { train: 0.55, dev: 0.08 };

/** Collects entities under unique titles; what comes first keeps the title. */
class EntityCollection {
  readonly entities: EntityMap = new Map();
  private readonly normalised = new Set<string>();

  add(entity: Omit<Entity, 'split' | 'asked'> & { asked?: boolean }): Entity | undefined {
    const name = normaliseName(entity.title);
    if (this.normalised.has(name)) return undefined;
    this.normalised.add(name);
    const added: Entity = { asked: true, ...entity, split: 'train' };
    this.entities.set(entity.title, added);
    return added;
  }

  has(title: string, type: EntityType): boolean {
    return this.entities.get(title)?.type === type;
  }
}

/** Builds all entities; the same sources and seed give the same entities. */
export function buildEntities(sources: Sources, random: Random): EntityMap {
  const wiki = new EntityCollection();
  addCountries(wiki, sources);
  addStates(wiki, sources);
  addElements(wiki, sources);
  addCities(wiki, sources);
  addColleges(wiki, sources);
  addPlayers(wiki, sources, random.fork('players'));
  addAirports(wiki, sources);
  addFilms(wiki, sources, random.fork('films'));
  assignSplits(wiki.entities, random.fork('splits'));
  return wiki.entities;
}

function addCountries(wiki: EntityCollection, { countries }: Sources): void {
  for (const row of countries) {
    const facts: Record<string, Fact> = { subregion: { value: row.subregion } };
    if (row.capitals.length === 1 && row.capitals[0]) facts.capital = { value: row.capitals[0] };
    if (row.currencies.length === 1 && row.currencies[0]) facts.currency = { value: row.currencies[0] };
    if (row.languages.length === 1) facts.language = { value: row.languages[0] };
    if (row.numNeighbours > 0)
      facts.neighbours = numberFact(row.numNeighbours, (n) => (n === 1 ? '1 country' : `${n} countries`));
    for (const attribute of Object.keys(facts))
      if (DISPUTED_COUNTRY_FACTS.has(`${row.name} ${attribute}`)) delete facts[attribute];
    wiki.add({
      title: row.name,
      type: 'country',
      group: row.code,
      facts,
      asked: row.name !== 'Georgia' && row.name !== 'United States',
    });
  }
}

function addStates(wiki: EntityCollection, { states, cities }: Sources): void {
  for (const row of states) {
    const facts: Record<string, Fact> = { capital: { value: row.capital } };
    const largest = cities
      .filter((city) => city.country === 'US' && city.state === row.code)
      .sort((a, b) => b.population - a.population);
    if (largest[0].population > 1.2 * largest[1].population) facts.largestCity = { value: largest[0].name };
    if (row.name === largest[0].name || row.name === 'New York') delete facts.largestCity;
    wiki.add({ title: row.name, type: 'state', group: stateGroup(row.code), facts });
  }
}

function stateGroup(code: string): string {
  return `US-${code}`;
}

function addElements(wiki: EntityCollection, { elements }: Sources): void {
  for (const row of elements) {
    const facts: Record<string, Fact> = {
      symbol: { value: row.symbol },
      atomicNumber: numberFact(row.atomicNumber),
    };
    const country = row.discoveryCountry;
    if (row.discoveryYear && country && !/[/?]/.test(country) && !DISPUTED_ELEMENTS.has(row.name)) {
      facts.discoveryYear = numberFact(row.discoveryYear);
      facts.discoveryCountry = { value: country, linked: wiki.has(country, 'country') };
    }
    wiki.add({ title: row.name, type: 'element', group: row.name, facts });
  }
}

/** A city may carry its bare name when no other place of that name has a tenth of its population. */
function addCities(wiki: EntityCollection, sources: Sources): void {
  const byName = group(sources.cities, ({ name }) => normaliseName(name));
  const countries = new Map(sources.countries.map((row) => [row.code, row]));
  const stateNames = new Map(sources.states.map((row) => [row.code, row.name]));
  const visited = visitedCities(sources);
  const taken = new Map<string, number>();
  const ranked = sources.cities.filter((city) => city.population >= 20000 && plainName(city.name, 3));
  for (const city of ranked.sort((a, b) => b.population - a.population)) {
    const { name, population } = city;
    const isUs = city.country === 'US';
    const country = countries.get(city.country);
    const region = isUs ? stateNames.get(city.state) : country?.name;
    const ownGroup = isUs ? stateGroup(city.state) : city.country;
    const numTaken = taken.get(ownGroup) ?? 0;
    const isFull = numTaken >= NUM_CITIES_A_COUNTRY;
    const isWanted = visited.has(`${normaliseName(name)}/${ownGroup}`)
      ? isUs || population >= 90000 || !isFull
      : population >= 60000 && !isFull;
    if (!region || !isWanted) continue;
    const others = (byName.get(normaliseName(name)) ?? []).filter((other) => other !== city);
    const isUnique = others.every((other) => other.population * 10 < population);
    if (isUnique || others[0].population > 60000) {
      const aliases =
        isUs || !country || country.officialName === region ? undefined : [country.officialName];
      const linked = wiki.has(region, isUs ? 'state' : 'country');
      wiki.add({
        title: isUnique ? name : `${name}, ${region}`,
        type: isUs ? 'usCity' : 'city',
        group: ownGroup,
        facts: {
          population: { value: roundedPopulation(population) },
          [isUs ? 'state' : 'country']: { value: region, aliases, linked },
        },
        asked: isUnique,
      });
    }
    taken.set(ownGroup, numTaken + 1);
  }
}

/** Cities that an airport serves, a player was born in or a college stands in. */
function visitedCities({ airports, players, countries }: Sources): Set<string> {
  const codes = new Map(countries.map((row) => [row.name, row.code]));
  const visited = new Set<string>();
  for (const row of airports) visited.add(`${normaliseName(row.city)}/${codes.get(row.country) ?? ''}`);
  for (const row of players) {
    visited.add(`${normaliseName(row.birthCity)}/${birthGroup(row.birthState, row.birthCountry)}`);
    if (row.collegeCity)
      visited.add(`${normaliseName(row.collegeCity)}/${stateGroup(row.collegeState ?? '')}`);
  }
  return visited;
}

function roundedPopulation(population: number): string {
  if (population >= 9.5e5) return `${Math.round(population / 1e6)} million`;
  return `${Math.round(population / 1e4) * 10} thousand`;
}

// prettier-ignore
const COUNTRY_CODES: Record<string, string> = {
  'D.R.': 'DO', Venezuela: 'VE', CAN: 'CA', Cuba: 'CU', Mexico: 'MX', Japan: 'JP', Panama: 'PA', Ireland: 'IE',
  England: 'GB', Scotland: 'GB', Wales: 'GB', Australia: 'AU', Germany: 'DE', Colombia: 'CO', 'South Korea': 'KR',
  Taiwan: 'TW', Nicaragua: 'NI', Netherlands: 'NL', Italy: 'IT', France: 'FR', Brazil: 'BR', Poland: 'PL',
};

function birthGroup(state: string | undefined, country: string): string {
  return country === 'USA' ? stateGroup(state ?? '') : (COUNTRY_CODES[country] ?? '');
}

function addColleges(wiki: EntityCollection, { players }: Sources): void {
  for (const row of players) {
    const name = row.college && plainName(row.college, 5);
    if (!name || !listable(name) || !row.collegeCity || !/^[A-Z]{2}$/.test(row.collegeState ?? '')) continue;
    const city = wiki.entities.get(row.collegeCity);
    const group = stateGroup(row.collegeState ?? '');
    if (city?.type !== 'usCity' || city.group !== group || !city.asked) continue;
    wiki.add({ title: name, type: 'college', group, facts: { city: { value: city.title, linked: true } } });
  }
}

function addPlayers(wiki: EntityCollection, { players }: Sources, random: Random): void {
  const candidates = random
    .shuffle(players)
    .filter((row) => plainName(row.name, 3) && row.name.includes(' '));
  const rank = (row: (typeof players)[number]): number =>
    row.college && wiki.has(row.college, 'college') ? 0 : 1;
  for (const row of candidates.sort((a, b) => rank(a) - rank(b)).slice(0, NUM_PLAYERS)) {
    const facts: Record<string, Fact> = {
      birthYear: numberFact(row.birthYear),
      debutYear: numberFact(row.debutYear),
    };
    if (row.weight) facts.weight = numberFact(row.weight, (n) => `${n} pounds`);
    let group = birthGroup(row.birthState, row.birthCountry);
    const city = wiki.entities.get(row.birthCity);
    if (city && city.group === group && city.asked) facts.birthPlace = { value: city.title, linked: true };
    if (row.college && wiki.has(row.college, 'college')) {
      facts.college = { value: row.college, linked: true };
      group = wiki.entities.get(row.college)?.group ?? group;
    }
    wiki.add({ title: plainName(row.name) ?? '', type: 'player', group: group || row.name, facts });
  }
}

function addAirports(wiki: EntityCollection, { airports, countries }: Sources): void {
  const codes = new Map(countries.map((row) => [row.name, row.code]));
  for (const row of airports) {
    const city = wiki.entities.get(row.city);
    if (city?.type !== 'city' || city.group !== codes.get(row.country) || !city.asked) continue;
    if (normaliseName(row.name).includes(normaliseName(row.city).slice(0, 4))) continue;
    const facts: Record<string, Fact> = {
      city: { value: city.title, linked: true },
      code: { value: row.code },
      altitude: numberFact(row.feet, (n) => `${n} feet`),
    };
    wiki.add({ title: row.name, type: 'airport', group: city.group, facts });
  }
}

/** Takes at most NUM_FILMS_A_YEAR of a year, those with a running time and a director of several films first. */
function addFilms(wiki: EntityCollection, { films }: Sources, random: Random): void {
  const works = rollup(
    films,
    (some) => some.length,
    ({ director }) => director,
  );
  const rank = (film: (typeof films)[number]): number =>
    ((works.get(film.director) ?? 0) > 1 ? 0 : 2) + (film.minutes ? 0 : 1);
  const taken = new Map<number, number>();
  const directors = new Map<string, Entity[]>();
  for (const row of random.shuffle(films).sort((a, b) => rank(a) - rank(b))) {
    if ((taken.get(row.year) ?? 0) >= NUM_FILMS_A_YEAR) continue;
    const facts: Record<string, Fact> = { year: numberFact(row.year), director: { value: row.director } };
    if (row.minutes) facts.minutes = numberFact(row.minutes, (n) => `${n} minutes`);
    if (row.distributor) facts.distributor = { value: row.distributor };
    if (row.genre) facts.genre = { value: row.genre };
    const film = wiki.add({ title: row.title, type: 'film', group: row.director, facts });
    if (!film) continue;
    taken.set(row.year, (taken.get(row.year) ?? 0) + 1);
    directors.set(row.director, [...(directors.get(row.director) ?? []), film]);
  }
  for (const [name, works] of directors) if (works.length > 1) addDirector(wiki, name, works);
}

/** A director's passage names up to four films; a film can be asked for by its year when no other has that year. */
function addDirector(wiki: EntityCollection, name: string, works: Entity[]): void {
  const shown = works.slice(0, 4).sort((a, b) => filmYear(a) - filmYear(b));
  const years = rollup(works, (some) => some.length, filmYear);
  const facts: Record<string, Fact> = {};
  for (const film of shown) {
    if (years.get(filmYear(film)) === 1)
      facts[`film ${filmYear(film)}`] = { value: film.title, linked: true };
  }
  if (!wiki.add({ title: name, type: 'director', group: name, facts })) return;
  for (const film of works) film.facts.director.linked = true;
}

function filmYear(film: Entity): number {
  return film.facts.year.number ?? 0;
}

/** A number as the passage writes it; a value with a unit also counts without it. */
function numberFact(number: number, format: (n: number) => string = String): Fact {
  const value = format(number);
  return value === String(number) ? { value, number } : { value, number, aliases: [String(number)] };
}

/** Splits whole groups, larger ones first, each to the split that lacks most of its share. */
function assignSplits(entities: EntityMap, random: Random): void {
  const byGroup = group(entities.values(), (entity) => entity.group);
  const share = { ...SPLIT_SHARES, test: 1 - SPLIT_SHARES.train - SPLIT_SHARES.dev };
  for (const kind of ['US-', 'country', 'other']) {
    const size = { train: 0, dev: 0, test: 0 };
    const groups = random.shuffle([...byGroup]).filter(([group]) => kind === groupKind(group));
    for (const [, members] of groups.sort((a, b) => b[1].length - a[1].length)) {
      const total = size.train + size.dev + size.test + members.length;
      const lack = (split: Split): number => share[split] - size[split] / total;
      const split = (['train', 'test', 'dev'] as const).reduce((a, b) => (lack(b) > lack(a) ? b : a));
      for (const member of members) member.split = split;
      size[split] += members.length;
    }
  }
}

function groupKind(group: string): string {
  if (group.startsWith('US-')) return 'US-';
  return /^[A-Z]{2}$/.test(group) ? 'country' : 'other';
}
