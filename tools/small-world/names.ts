/**
 * Invented names. They consist of few words, all known to the tokenizer; which words make
 * up a name is what must be read and copied.
 */
import type { Random } from '../../lib/random.js';

const words = (text: string): string[] => text.trim().split(/\s+/);

const ADJECTIVES = words(`
  Amber Ancient Autumn Blue Bright Broken Burning Copper Crimson Crooked Crystal Dark Distant Early Eastern Empty Endless
  Fading Fallen Final Forgotten Frozen Gentle Gilded Golden Green Grey Hidden Hollow Hungry Iron Ivory Jade Last Lonely Long
  Lost Marble Midnight Misty Narrow Northern Open Pale Paper Patient Purple Quiet Restless Rising Rusty Sacred Scarlet Secret
  Seventh Shallow Silent Silver Sleeping Southern Stolen Stone Stormy Strange Sudden Summer Sunken Tall Thirsty Twisted Velvet
  Wandering Western White Wild Winter Wooden Yellow Young
`);
const NOUNS = words(`
  Anchor Arrow Bell Bird Bridge Candle Canyon Castle Circle Cloud Coast Compass Crown Dancer Desert Door Dream Eagle Echo Ember
  Falcon Feather Field Fire Flame Forest Fountain Fox Garden Gate Harbour Heart Hill Horizon Horse House Island Journey Key King
  Lantern Letter Lighthouse Lion Meadow Mirror Moon Mountain Night Ocean Orchard Palace Path Pearl Portrait Prince Promise Queen
  Rain Raven River Road Rose Sailor Shadow Ship Shore Sky Snow Song Spring Star Storm Stranger Summit Throne Tide Tower Train
  Tree Valley Village Voice Voyage Wall Wave Well Wind Window Wolf Wood
`);
const FIRST_NAMES = words(`
  Ada Agnes Alma Anders Anton Arno Astrid Bela Berta Bruno Carl Celia Clara Conrad Dora Edgar Elena Elias Elsa Emil Enzo Erik
  Esther Felix Flora Franz Freda Georg Greta Gustav Hanna Hedda Hugo Ida Igor Ingrid Irma Ivan Jana Jonas Julia Karin Kaspar
  Klara Lars Laura Lena Leo Linus Lotte Lucia Magnus Maja Marta Matteo Milo Mira Nadia Nils Nora Olga Oskar Otto Paula Petra
  Rafael Rita Rosa Rufus Selma Silas Sofia Stefan Sven Tessa Theo Tilda Ursula Vera Viktor Wanda Yara Zelda
`);
const LAST_NAMES = words(`
  Adler Almeida Arden Bakker Barlow Becker Bellamy Bergman Blom Borg Brandt Calder Carver Castell Cole Conti Corso Dahl Decker
  Draper Dupont Eklund Ellis Falk Farrow Fischer Fontaine Forsyth Frost Galvez Garrick Gray Greco Hale Halvorsen Hart Holm Hurst
  Jansen Jarvis Keller Kern Kovac Kramer Lange Larkin Lind Lorca Lund Marlow Marsh Mercer Moreau Moretti Nash Novak Nyberg Oakley
  Olsen Palmer Parrish Petrov Pike Quinn Ramos Reed Ricci Rossi Rourke Salas Sauer Serrano Sharpe Silva Sorel Stark Steiner
  Strand Tanner Thorne Torres Turner Vance Vargas Vogel Wagner Walsh Weber Weiss Wilder Winter Wolfe Yates Zeller
`);
const PLACE_STEMS = words(`
  Alder Ash Bar Bel Bran Car Cor Dal Dor El Fal Far Glen Grim Hal Ham Kal Kel Lan Lin Mar Mel Mor Nar Nor Os Pel Ral Ros Sal
  Sel Tal Tor Ul Val Ver Wes Win Yar Zan
`);
const PLACE_ENDINGS = words(`
  berg bridge burg by dale den field ford ham haven holm land mere mont more mouth ness port rock stad stead ton vale vik wick
`);
const COUNTRY_ENDINGS = words('ania aria avia elia esia ia istan ora una');
const COMPANY_ENDINGS = words('Arts Brothers Group House Press Records Studios Works');

const join = (random: Random, ...lists: readonly (readonly string[])[]): string[] =>
  lists.map((list) => random.choice(list));

const MAKERS = {
  work: (random: Random) => join(random, ADJECTIVES, NOUNS).join(' '),
  person: (random: Random) => join(random, FIRST_NAMES, LAST_NAMES).join(' '),
  city: (random: Random) => join(random, PLACE_STEMS, PLACE_ENDINGS).join(''),
  country: (random: Random) => join(random, PLACE_STEMS, COUNTRY_ENDINGS).join(''),
  company: (random: Random) => join(random, LAST_NAMES, COMPANY_ENDINGS).join(' '),
} satisfies Record<string, (random: Random) => string>;

/** Things that are named alike; two things of one sort may share a name. */
export type NameSort = keyof typeof MAKERS;

/** Returns a function that draws unused names. It throws if hardly any are left. */
export function createNamer(): (sort: NameSort, random: Random) => string {
  const taken = new Set<string>();
  return (sort, random) => {
    for (let tries = 0; tries < 1000; tries++) {
      const name = MAKERS[sort](random);
      if (taken.has(name)) continue;
      taken.add(name);
      return name;
    }
    throw new Error(
      `Expected unused names of the sort ${sort}, but ${taken.size} are taken. Ask for a smaller world.`,
    );
  };
}
