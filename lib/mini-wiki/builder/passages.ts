/** Writes one short passage for an entity, in one of several phrasings. */
import type { Random } from '../../random.js';
import type { Entity, EntityType } from './entities.js';

type Writer = (name: string, value: (attribute: string) => string | undefined) => string;

/** Joins sentences, leaving out those whose fact is missing. */
function sentences(...parts: (string | undefined | false)[]): string {
  return parts.filter(Boolean).join(' ');
}

/** "A", "A and B", "A, B and C". */
export function listed(items: readonly string[], conjunction = 'and'): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} ${conjunction} ${items[items.length - 1]}`;
}

const WRITERS: Record<Exclude<EntityType, 'director'>, Writer[]> = {
  film: [
    (e, v) =>
      sentences(
        `${e} is ${aFilm(v('genre'))} directed by ${v('director')} and released in ${v('year')}.`,
        v('minutes') && `It runs for ${v('minutes')}.`,
        v('distributor') && `Its distributor was ${v('distributor')}.`,
      ),
    (e, v) =>
      sentences(
        `Released in ${v('year')}, ${e} is ${aFilm(v('genre'))} by director ${v('director')}.`,
        v('distributor') && `${v('distributor')} distributed the film.`,
        v('minutes') && `Its running time is ${v('minutes')}.`,
      ),
    (e, v) =>
      sentences(
        `${v('director')} directed ${e}, ${aFilm(v('genre'))}.`,
        v('minutes') && `The film lasts ${v('minutes')}.`,
        `It opened in ${v('year')}${v('distributor') ? ` and was distributed by ${v('distributor')}` : ''}.`,
      ),
    (e, v) =>
      sentences(
        `The film ${e} came out in ${v('year')}.`,
        `Its director was ${v('director')}${v('distributor') ? ` and its distributor ${v('distributor')}` : ''}.`,
        v('minutes') && `It has a length of ${v('minutes')}.`,
      ),
    (e, v) =>
      sentences(
        `${e} is ${aFilm(v('genre'))}${v('distributor') ? ` distributed by ${v('distributor')}` : ''}.`,
        v('minutes') && `It is ${v('minutes')} long.`,
        `${v('director')} was the director, and it reached cinemas in ${v('year')}.`,
      ),
  ],
  player: [
    (e, v) =>
      sentences(
        `${e} was born in ${v('birthYear')}${v('birthPlace') ? ` in ${v('birthPlace')}` : ''}.`,
        `The baseball player made a major league debut in ${v('debutYear')}.`,
        v('college') && `${e} attended ${v('college')}.`,
      ),
    (e, v) =>
      sentences(
        `${e} is known as a baseball player who first played in the major leagues in ${v('debutYear')}.`,
        v('college') && `The player's college was ${v('college')}.`,
        `The year of birth was ${v('birthYear')}${v('birthPlace') ? ` and the birthplace ${v('birthPlace')}` : ''}.`,
      ),
    (e, v) =>
      sentences(
        `Baseball player ${e} reached the major leagues in ${v('debutYear')}${v('weight') ? ` and weighed ${v('weight')}` : ''}.`,
        `${e} was born in ${v('birthYear')}${v('college') ? ` and played for ${v('college')}` : ''}.`,
        v('birthPlace') && `The place of birth was ${v('birthPlace')}.`,
      ),
    (e, v) =>
      sentences(
        v('birthPlace') && `Born in ${v('birthPlace')}, ${e} became a baseball player.`,
        v('college') && `${e} went to ${v('college')}.`,
        `A birth year of ${v('birthYear')} and a major league debut in ${v('debutYear')} are on record for the player ${e}.`,
      ),
    (e, v) =>
      sentences(
        `${e}, a baseball player born in ${v('birthYear')}, made the major league debut in ${v('debutYear')}.`,
        v('weight') && `The playing weight was ${v('weight')}.`,
        v('birthPlace') && `${e} was born in ${v('birthPlace')}.`,
        v('college') && `The college was ${v('college')}.`,
      ),
  ],
  college: [
    (e, v) =>
      `${e} is a college in the city of ${v('city')}. Several major league baseball players studied there.`,
    (e, v) =>
      `${e} is an American college. Its home is ${v('city')}, and its teams have sent players to the major leagues.`,
    (e, v) => `The college ${e} is located in ${v('city')}. Baseball is among the sports played there.`,
    (e, v) => `Baseball is played at ${e}, a college whose campus is in ${v('city')} in the United States.`,
  ],
  city: [
    (e, v) => `${e} is a city in ${withArticle(v('country'))}. About ${v('population')} people live there.`,
    (e, v) =>
      `With about ${v('population')} inhabitants, ${e} is one of the cities of ${withArticle(v('country'))}.`,
    (e, v) =>
      `The city of ${e} lies in ${withArticle(v('country'))} and has a population of about ${v('population')}.`,
    (e, v) =>
      `${e} has roughly ${v('population')} inhabitants. It is located in ${withArticle(v('country'))}.`,
  ],
  usCity: [
    (e, v) => `${e} is a city in the state of ${v('state')}. About ${v('population')} people live there.`,
    (e, v) =>
      `With about ${v('population')} inhabitants, ${e} is a city of the American state of ${v('state')}.`,
    (e, v) =>
      `The city of ${e} lies in ${v('state')}, United States, and has a population of about ${v('population')}.`,
    (e, v) => `${e} has roughly ${v('population')} inhabitants. It is located in the state of ${v('state')}.`,
  ],
  airport: [
    (e, v) =>
      `${e} serves the city of ${v('city')}. It lies ${v('altitude')} above sea level and has the code ${v('code')}.`,
    (e, v) =>
      `The city of ${v('city')} is served by ${e}. Its code is ${v('code')} and its elevation ${v('altitude')}.`,
    (e, v) => `${e}, code ${v('code')}, is the airport of ${v('city')}. Its runway lies at ${v('altitude')}.`,
    (e, v) =>
      `At an elevation of ${v('altitude')}, ${e} is an airport for ${v('city')}. The code of the airport is ${v('code')}.`,
  ],
  country: [
    (e, v) =>
      sentences(
        `${e} is a country in ${withArticle(v('subregion'))}.`,
        v('capital') && `Its capital is ${v('capital')}.`,
        v('currency') && `The currency is the ${v('currency')}.`,
        v('language') && `The official language is ${v('language')}.`,
        v('neighbours') && `It borders ${v('neighbours')}.`,
      ),
    (e, v) =>
      sentences(
        v('capital') && `${v('capital')} is the capital of ${e}.`,
        v('neighbours') && `The country has land borders with ${v('neighbours')}.`,
        `${e} lies in ${withArticle(v('subregion'))}.`,
        v('language') && `People there speak ${v('language')}.`,
        v('currency') && `They pay with the ${v('currency')}.`,
      ),
    (e, v) =>
      sentences(
        `Located in ${withArticle(v('subregion'))}, ${e} is a country${v('neighbours') ? ` next to ${v('neighbours')}` : ''}.`,
        v('currency') && `Its money is the ${v('currency')}.`,
        v('language') && `Its language is ${v('language')}.`,
        v('capital') && `The capital city is ${v('capital')}.`,
      ),
  ],
  state: [
    (e, v) =>
      sentences(
        `${e} is a state of the United States.`,
        `Its capital is ${v('capital')}.`,
        v('largestCity') && `Its largest city is ${v('largestCity')}.`,
      ),
    (e, v) =>
      sentences(
        v('largestCity') && `The largest city of ${e} is ${v('largestCity')}.`,
        `The capital of this American state is ${v('capital')}.`,
        `${e} is one of the fifty states.`,
      ),
    (e, v) =>
      sentences(
        `The state of ${e} has ${v('capital')} as its capital.`,
        v('largestCity') && `${v('largestCity')} is the largest city.`,
        `${e} belongs to the United States.`,
      ),
  ],
  element: [
    (e, v) =>
      sentences(
        `${e} is a chemical element with the symbol ${v('symbol')} and atomic number ${v('atomicNumber')}.`,
        v('discoveryYear') &&
          `It was discovered in ${withArticle(v('discoveryCountry'))} in ${v('discoveryYear')}.`,
      ),
    (e, v) =>
      sentences(
        v('discoveryYear') &&
          `${e} was discovered in ${v('discoveryYear')} in ${withArticle(v('discoveryCountry'))}.`,
        `The element ${e} has the symbol ${v('symbol')} and the atomic number ${v('atomicNumber')}.`,
      ),
    (e, v) =>
      sentences(
        `The chemical element ${e} has atomic number ${v('atomicNumber')}.`,
        v('discoveryYear') &&
          `Its discovery in ${withArticle(v('discoveryCountry'))} dates from ${v('discoveryYear')}.`,
        `Its symbol is ${v('symbol')}.`,
      ),
  ],
};

const DIRECTOR_WRITERS: ((name: string, films: [string, string][]) => string)[] = [
  (e, films) =>
    `${e} is a film director. ${capitalised(listed(films.map(([year, film]) => `${film} in ${year}`)))} are works of ${e}.`,
  (e, films) =>
    `The films of director ${e} include ${listed(films.map(([year, film]) => `${film} from ${year}`))}.`,
  (e, films) => `${e} directed ${listed(films.map(([year, film]) => `${film} in ${year}`))}.`,
  (e, films) =>
    `Among the films that ${e} directed are ${listed(
      films.map(([year, film]) => `${film}, out in ${year}`),
      'and',
    )}.`,
];

/** Names of places that take an article within a sentence. */
function withArticle(place: string | undefined): string {
  return /^(Caribbean|United |Netherlands|Philippines|Maldives|Bahamas|Czech Rep)/.test(place ?? '')
    ? `the ${place}`
    : (place ?? '');
}

/** A kind of film with its article. */
function aFilm(genre: string | undefined): string {
  if (!genre) return 'a film';
  return `${/^[aeiou]/.test(genre) ? 'an' : 'a'} ${genre} film`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The text of an entity's passage, without its title. */
export function writePassage(entity: Entity, random: Random): string {
  if (entity.type === 'director') {
    const films = Object.entries(entity.facts).map(([key, fact]): [string, string] => [
      key.slice(5),
      fact.value,
    ]);
    return random.choice(DIRECTOR_WRITERS)(entity.title, films);
  }
  const writer = random.choice(WRITERS[entity.type]);
  const text = writer(entity.title.split(',')[0], (attribute) => entity.facts[attribute]?.value);
  return text.replaceAll('..', '.');
}
