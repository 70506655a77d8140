import { describe, expect, it } from 'vitest';
import { buildEntities } from '../../../lib/mini-wiki/builder/entities.js';
import type { Sources } from '../../../lib/mini-wiki/builder/sources.js';
import { createRandom } from '../../../lib/random.js';

describe('buildEntities', () => {
  const city = (name: string, country: string, population: number) => ({
    name,
    country,
    population,
    state: '',
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
});
