/** Writes one short passage for an entity, in one of several phrasings. */
import type { Random } from '../../random.js';
import type { Entity, EntityType } from './entities.js';
import { listed } from './names.js';

/**
 * Phrasings by type of entity. `{e}` is its name and `{year}` the value of its fact; `{the country}` puts an article before names
 * of places that take one, `{a genre}` is a kind of film with its article, and `{films: in }` is a director's films, each with ` in `
 * and its year. What stands in `[...]` is left out when one of its facts is missing.
 */
// prettier-ignore
const PHRASINGS: Record<EntityType, string[]> = {
  film: [
    '{e} is {a genre} directed by {director} and released in {year}.[ It runs for {minutes}.][ Its distributor was {distributor}.]',
    'Released in {year}, {e} is {a genre} by director {director}.[ {distributor} distributed the film.][ Its running time is {minutes}.]',
    '{director} directed {e}, {a genre}.[ The film lasts {minutes}.] It opened in {year}[ and was distributed by {distributor}].',
    'The film {e} came out in {year}. Its director was {director}[ and its distributor {distributor}].[ It has a length of {minutes}.]',
    '{e} is {a genre}[ distributed by {distributor}].[ It is {minutes} long.] {director} was the director, and it reached cinemas in {year}.',
  ],
  director: [
    '{e} is a film director. {Films: in } are works of {e}.',
    'The films of director {e} include {films: from }.',
    '{e} directed {films: in }.',
    'Among the films that {e} directed are {films:, out in }.',
  ],
  player: [
    '{e} was born in {birthYear}[ in {birthPlace}]. The baseball player made a major league debut in {debutYear}.[ {e} attended {college}.]',
    "{e} is known as a baseball player who first played in the major leagues in {debutYear}.[ The player's college was {college}.] The year of birth was {birthYear}[ and the birthplace {birthPlace}].",
    'Baseball player {e} reached the major leagues in {debutYear}[ and weighed {weight}]. {e} was born in {birthYear}[ and played for {college}].[ The place of birth was {birthPlace}.]',
    '[Born in {birthPlace}, {e} became a baseball player. ][{e} went to {college}. ]A birth year of {birthYear} and a major league debut in {debutYear} are on record for the player {e}.',
    '{e}, a baseball player born in {birthYear}, made the major league debut in {debutYear}.[ The playing weight was {weight}.][ {e} was born in {birthPlace}.][ The college was {college}.]',
  ],
  college: [
    '{e} is a college in the city of {city}. Several major league baseball players studied there.',
    '{e} is an American college. Its home is {city}, and its teams have sent players to the major leagues.',
    'The college {e} is located in {city}. Baseball is among the sports played there.',
    'Baseball is played at {e}, a college whose campus is in {city} in the United States.',
  ],
  city: [
    '{e} is a city in {the country}. About {population} people live there.',
    'With about {population} inhabitants, {e} is one of the cities of {the country}.',
    'The city of {e} lies in {the country} and has a population of about {population}.',
    '{e} has roughly {population} inhabitants. It is located in {the country}.',
  ],
  usCity: [
    '{e} is a city in the state of {state}. About {population} people live there.',
    'With about {population} inhabitants, {e} is a city of the American state of {state}.',
    'The city of {e} lies in {state}, United States, and has a population of about {population}.',
    '{e} has roughly {population} inhabitants. It is located in the state of {state}.',
  ],
  airport: [
    '{e} serves the city of {city}. It lies {altitude} above sea level and has the code {code}.',
    'The city of {city} is served by {e}. Its code is {code} and its elevation {altitude}.',
    '{e}, code {code}, is the airport of {city}. Its runway lies at {altitude}.',
    'At an elevation of {altitude}, {e} is an airport for {city}. The code of the airport is {code}.',
  ],
  country: [
    '{e} is a country in {the subregion}.[ Its capital is {capital}.][ The currency is the {currency}.][ The official language is {language}.][ It borders {neighbours}.]',
    '[{capital} is the capital of {e}. ][The country has land borders with {neighbours}. ]{e} lies in {the subregion}.[ People there speak {language}.][ They pay with the {currency}.]',
    'Located in {the subregion}, {e} is a country[ next to {neighbours}].[ Its money is the {currency}.][ Its language is {language}.][ The capital city is {capital}.]',
  ],
  state: [
    '{e} is a state of the United States. Its capital is {capital}.[ Its largest city is {largestCity}.]',
    '[The largest city of {e} is {largestCity}. ]The capital of this American state is {capital}. {e} is one of the fifty states.',
    'The state of {e} has {capital} as its capital.[ {largestCity} is the largest city.] {e} belongs to the United States.',
  ],
  element: [
    '{e} is a chemical element with the symbol {symbol} and atomic number {atomicNumber}.[ It was discovered in {the discoveryCountry} in {discoveryYear}.]',
    '[{e} was discovered in {discoveryYear} in {the discoveryCountry}. ]The element {e} has the symbol {symbol} and the atomic number {atomicNumber}.',
    'The chemical element {e} has atomic number {atomicNumber}.[ Its discovery in {the discoveryCountry} dates from {discoveryYear}.] Its symbol is {symbol}.',
  ],
};

/** The text of an entity's passage, without its title. */
export function writePassage(entity: Entity, random: Random): string {
  const phrasing = random.choice(PHRASINGS[entity.type]);
  const filled = (text: string): string =>
    text.replace(/\{(.+?)\}/g, (_, slot: string) => fill(slot, entity));
  const text = phrasing.replace(/\[(.+?)\]/g, (_, part: string) => {
    const slots = [...part.matchAll(/\{(?:the )?(\w+)\}/g)].map(([, name]) => name);
    return slots.every((name) => name === 'e' || entity.facts[name]) ? filled(part) : '';
  });
  // A name that ends with a full stop ends its sentence with it; the films of a director stand within sentences.
  return entity.type === 'director' ? filled(text) : filled(text).replaceAll('..', '.');
}

/** What a slot of a phrasing stands for. */
function fill(slot: string, { title, facts }: Entity): string {
  const [kind, name = kind] = slot.split(' ');
  if (slot === 'e') return title.split(',')[0];
  if (slot === 'a genre') return filmOf(facts.genre?.value);
  if (/^films:/i.test(slot)) return filmsOf(facts, slot);
  const { value } = facts[name];
  return kind === 'the' && TAKES_ARTICLE.test(value) ? `the ${value}` : value;
}

const TAKES_ARTICLE = /^(Caribbean|United |Netherlands|Philippines|Maldives|Bahamas|Czech Rep)/;

/** A kind of film with its article. */
function filmOf(genre: string | undefined): string {
  return genre ? `${/^[aeiou]/.test(genre) ? 'an' : 'a'} ${genre} film` : 'a film';
}

/** A director's films with their years, such as `Jaws in 1975 and Hook in 1991`. */
function filmsOf(facts: Entity['facts'], slot: string): string {
  const joint = slot.slice('films:'.length);
  const films = listed(
    Object.entries(facts).map(([key, { value }]) => `${value}${joint}${key.slice('film '.length)}`),
  );
  return slot.startsWith('F') ? films.charAt(0).toUpperCase() + films.slice(1) : films;
}
