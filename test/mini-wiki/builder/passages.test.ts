import { describe, expect, it } from 'vitest';
import type { Entity, EntityType } from '../../../lib/mini-wiki/builder/entities.js';
import { writePassage } from '../../../lib/mini-wiki/builder/passages.js';
import { createRandom } from '../../../lib/random.js';

/** Passages of an entity by many seeds, so that every phrasing is among them. */
function passagesOf(type: EntityType, title: string, values: Record<string, string>): string[] {
  const facts = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, { value }]));
  const entity: Entity = { title, type, group: '', split: 'train', asked: true, facts };
  return [...new Set(Array.from({ length: 60 }, (_, seed) => writePassage(entity, createRandom(seed))))];
}

describe('writePassage', () => {
  it('states facts in several phrasings', () => {
    const airport = { city: 'Valdor', code: 'SND', altitude: '12 feet' };
    const texts = passagesOf('airport', 'Sand Airport', airport);
    expect(texts).toHaveLength(4);
    for (const text of texts)
      for (const value of ['Sand Airport', ...Object.values(airport)]) expect(text).toContain(value);
  });

  it('leaves out what there is no fact for, and ends every sentence once', () => {
    const texts = passagesOf('film', 'Loud.', { director: 'Ann Lee', year: '1990' });
    expect(texts).toHaveLength(5);
    for (const text of texts) expect(text).not.toMatch(/undefined|[[\]{}]| {2}|\.\.| $|ran|lasts|distribut/);
    expect(texts).toContain('Loud. is a film directed by Ann Lee and released in 1990.');
  });

  it('puts articles before kinds of film and places that take one', () => {
    const film = { director: 'Ann Lee', year: '1990', genre: 'action', minutes: '99 minutes' };
    expect(passagesOf('film', 'Loud', film)).toContain(
      'Loud is an action film directed by Ann Lee and released in 1990. It runs for 99 minutes.',
    );
    expect(
      passagesOf('city', 'Leeds, United Kingdom', { country: 'United Kingdom', population: '1 million' }),
    ).toContain('Leeds is a city in the United Kingdom. About 1 million people live there.');
  });

  it('lists the films of a director with their years', () => {
    expect(passagesOf('director', 'Ann Lee', { 'film 1990': 'loud', 'film 1992': 'Quiet' })).toEqual(
      expect.arrayContaining([
        'Ann Lee is a film director. Loud in 1990 and Quiet in 1992 are works of Ann Lee.',
        'Among the films that Ann Lee directed are loud, out in 1990 and Quiet, out in 1992.',
      ]),
    );
  });
});
