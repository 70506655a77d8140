/** What reading the source rows showed to be wrong or ambiguous, left out of the mini-wiki. */

/** Films whose row has a wrong or disputed year, another director, several directors or a title shared with a known film. */
// prettier-ignore
const DOUBTFUL_FILMS = new Set([
  'Drei', 'The Magic Flute', 'Hannibal the Conqueror', 'A Farewell To Arms', 'The Greatest Story Ever Told',
  'High Plains Drifter', 'The Deer Hunter', 'Mad Max', 'The Evil Dead', 'Superman II', 'Twilight Zone: The Movie',
  'The Man From Snowy River', 'La Guerre du feu', 'Shichinin no samurai', "C'era una volta il West",
  'Per un pugno di dollari', 'West Side Story', "Singin' in the Rain", 'Airplane!', 'The Planet of the Apes',
  'Planet of the Apes', 'The War of the Worlds', 'Halloween', 'The Sorcerer', 'Ratatouille', 'Finding Nemo', 'Sin City',
  'Grindhouse', 'The Transporter', 'Machete', 'Corpse Bride', 'Shrek', 'Shrek 2', 'Delicatessen', 'Four Rooms',
  'New York Stories', 'Top Secret!', 'Fantasia 2000', 'Kung Fu Hustle', 'Alien Resurrection', 'Spirited Away', 'Hero', 'The Prince of Egypt',
]);

/** Directors whose films mostly have a second director that the rows do not name. */
// prettier-ignore
const DIRECTORS_IN_PAIRS = new Set([
  'Andy Wachowski', 'Bobby Farrelly', 'Peter Farrelly', 'Joel Coen', 'Ethan Coen', 'Albert Hughes', 'Allen Hughes',
  'Jason Friedberg', 'Aaron Seltzer', 'Michael Polish', 'Michael Spierig', 'Mark Duplass', 'Gary Trousdale', 'Paul Weitz',
  'Chris Weitz', 'Sam Fell', 'Chris Wedge', 'Don Bluth', 'Steve Hickner', 'Rob Minkoff', 'Kevin Lima', 'David Silverman',
  'John Lasseter', 'Rob Letterman', 'Mark DiSalle', 'Jerry Zucker', 'Corey Yuen', 'Mark Neveldine', 'Brian Taylor',
]);

/** Elements whose discovery the source dates or places otherwise than most references do. */
// prettier-ignore
export const DISPUTED_ELEMENTS: ReadonlySet<string> = new Set([
  'Platinum', 'Magnesium', 'Fluorine', 'Beryllium', 'Zirconium', 'Niobium', 'Calcium', 'Titanium', 'Nobelium', 'Tungsten',
  'Lawrencium', 'Rutherfordium', 'Dubnium', 'Cobalt', 'Chromium', 'Silicon', 'Thallium', 'Ytterbium', 'Lutetium',
  'Neodymium', 'Vanadium', 'Krypton', 'Radon', 'Flerovium', 'Livermorium', 'Oganesson', 'Nihonium', 'Yttrium',
]);

/** Facts of countries that are disputed or have changed since the source was written. */
// prettier-ignore
export const DISPUTED_COUNTRY_FACTS: ReadonlySet<string> = new Set([
  'Bolivia capital', 'Eswatini capital', 'Israel capital', 'Sri Lanka capital', 'Nauru capital', 'Sri Lanka neighbours',
  'Canada neighbours', 'Denmark neighbours', 'Bulgaria currency', 'Venezuela currency', 'Zimbabwe currency',
]);

/** Territories whose standing is disputed: their neighbours' number of neighbours is not asked for. */
export const DISPUTED_TERRITORIES: ReadonlySet<string> = new Set(['UNK', 'ESH', 'PSE']);

/** Languages, capitals and regions that the source names otherwise than most references do today. */
const USUAL_NAMES = new Map([
  ['Austro-Bavarian German', 'German'],
  ['Persian (Farsi)', 'Persian'],
  ['Moldavian', 'Romanian'],
  ['Nur-Sultan', 'Astana'],
  // Does not repeat the name of a country.
  ['Australia and New Zealand', 'Oceania'],
]);

export const usualName = (name: string): string => USUAL_NAMES.get(name) ?? name;

/** Cities whose country is disputed. */
// prettier-ignore
export const DISPUTED_CITIES: ReadonlySet<string> = new Set([
  'Sevastopol', 'Simferopol', 'Kerch', 'Yalta', 'Yevpatoriya', 'Feodosiya', 'Donetsk', 'Luhansk', 'Makiyivka', 'Horlivka',
  'Mariupol', 'Melitopol', 'Berdyansk', 'Alchevsk', 'Hargeysa', 'Berbera', 'Burao', 'Boorama', 'Sukhumi', 'Tiraspol',
  'Bender', 'Jerusalem', 'West Jerusalem', 'East Jerusalem', 'Famagusta', 'Kyrenia', 'Laayoune', 'Xankandi', 'Srinagar',
]);

/** True when a film is better left out. */
export const isDoubtfulFilm = ({ title, director }: { title: string; director: string }): boolean =>
  DOUBTFUL_FILMS.has(title) || DIRECTORS_IN_PAIRS.has(director);
