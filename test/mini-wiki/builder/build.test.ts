import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { formatPassages, formatQuestions } from '../../../lib/data/flashrag.js';
import { makeMiniWiki, MINI_WIKI_SEED } from '../../../lib/mini-wiki/builder/build.js';
import { buildEntities } from '../../../lib/mini-wiki/builder/entities.js';
import { containsAnswer } from '../../../lib/mini-wiki/builder/questions/graph.js';
import {
  listable,
  listed,
  normaliseName,
  phrasesOf,
  plainName,
  transliterate,
} from '../../../lib/mini-wiki/builder/names.js';
import { writePassage } from '../../../lib/mini-wiki/builder/passages.js';
import { readSources, type Sources } from '../../../lib/mini-wiki/builder/sources.js';
import { createRandom } from '../../../lib/random.js';

describe('names', () => {
  it('are transliterated to ASCII or refused', () => {
    expect(transliterate('Malmö')).toBe('Malmo');
    expect(transliterate('Łódź')).toBe('Lodz');
    expect(transliterate('東京')).toBeNull();
    expect(plainName('Dr. Zhivago')).toBe('Dr. Zhivago');
    expect(plainName('1984')).toBeNull();
    expect(plainName('A B C D Five Words')).toBeNull();
    expect(plainName('Tango & Cash')).toBeNull();
  });

  it('are compared without case, punctuation and apostrophes', () => {
    expect(normaliseName("Schindler's List!")).toBe('schindlers list');
    expect(phrasesOf('Who made Jaws?', 2)).toEqual(new Set(['who', 'who made', 'made', 'made jaws', 'jaws']));
  });

  it('are listed only when the list stays readable', () => {
    expect(listable('Sense and Sensibility')).toBe(false);
    expect(listable('Anderson')).toBe(true);
    expect(listed(['A', 'B', 'C'], 'or')).toBe('A, B or C');
  });
});

describe('containsAnswer', () => {
  it('finds answers as whole words only', () => {
    expect(containsAnswer('Where is Mexico City?', ['Mexico'])).toBe(true);
    expect(containsAnswer('Where is Romeo?', ['Rome'])).toBe(false);
  });
});

describe('buildEntities', () => {
  const city = (name: string, country: string, population: number) => ({
    name,
    country,
    state: '',
    population,
  });
  const country = (name: string, code: string) => ({
    name,
    officialName: `Republic of ${name}`,
    code,
    capitals: [`${name} City`],
    currencies: ['Euro'],
    languages: ['Latin'],
    subregion: 'Southern Europe',
    numNeighbours: 2,
  });
  const sources: Sources = {
    films: [1990, 1991, 1992].map((year, i) => ({ title: `Film ${'ABC'[i]}bc`, director: 'Ann Lee', year })),
    cities: [
      city('Valdor', 'AA', 900000),
      city('Valdor', 'BB', 80000),
      city('Mirin', 'AA', 500000),
      city('Mirin', 'BB', 400000),
    ],
    airports: [{ name: 'Sand Airport', city: 'Valdor', country: 'Aland', code: 'SND', feet: 12 }],
    countries: [country('Aland', 'AA'), country('Bland', 'BB')],
    states: [],
    players: [],
    elements: [],
  };
  const entities = buildEntities(sources, createRandom(1));

  it('gives a bare name to a city only where no other of that name has a tenth of its people', () => {
    expect(entities.get('Valdor')?.facts.country).toEqual({
      value: 'Aland',
      aliases: ['Republic of Aland'],
      linked: true,
    });
    expect(entities.get('Valdor, Bland')?.asked).toBe(false);
    expect(entities.has('Mirin')).toBe(false);
  });

  it('keeps a country with its cities and airports, and a director with the films, in one split', () => {
    const splitOf = (title: string): string | undefined => entities.get(title)?.split;
    expect(new Set(['Aland', 'Valdor', 'Sand Airport'].map(splitOf)).size).toBe(1);
    expect(new Set(['Ann Lee', 'Film Abc', 'Film Bbc', 'Film Cbc'].map(splitOf)).size).toBe(1);
  });

  it('links a film to its director and the director to films by year', () => {
    expect(entities.get('Film Abc')?.facts.director).toEqual({ value: 'Ann Lee', linked: true });
    expect(entities.get('Ann Lee')?.facts['film 1991'].value).toBe('Film Bbc');
  });

  it('writes passages that state facts', () => {
    const text = writePassage(entities.get('Sand Airport')!, createRandom(2));
    for (const value of ['Sand Airport', 'Valdor', 'SND', '12 feet']) expect(text).toContain(value);
  });
});

const sourcesFolder = 'data/mini-wiki/sources';
const installed = existsSync(`${sourcesFolder}/node_modules/vega-datasets`);

describe.skipIf(!installed)(`rebuilding (needs npm ci --ignore-scripts --prefix ${sourcesFolder})`, () => {
  it('gives the same files again', () => {
    const { passages, questions } = makeMiniWiki(readSources(sourcesFolder), MINI_WIKI_SEED);
    expect(formatPassages(passages) === readFileSync('data/mini-wiki/passages.jsonl', 'utf8')).toBe(true);
    expect(formatQuestions(questions) === readFileSync('data/mini-wiki/questions.jsonl', 'utf8')).toBe(true);
  });
});
