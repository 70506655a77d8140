/**
 * The wording of comparisons, by the fact that is compared (`type.attribute`). `{or}` and `{and}` are the compared entities; `{a}`
 * and `{b}` the first two of them.
 */

export interface OrderTemplate {
  /** Share among the comparisons by order. */
  weight: number;
  /** The largest number that is compared. */
  maximum?: number;
  argmin: string[];
  argmax: string[];
  /** Wordings for two entities only. */
  argminOfTwo: string[];
  argmaxOfTwo: string[];
}

// prettier-ignore
export const ORDERS: Record<string, OrderTemplate> = {
  'film.year': {
    weight: 4,
    argmin: ['Which film was released first, {or}?', 'Of the films {and}, which came out first?', 'Which of {and} is the oldest film?', 'Among {and}, which film was released earliest?', 'Which film is from the earliest year: {or}?'],
    argmax: ['Which film was released last, {or}?', 'Of the films {and}, which came out last?', 'Which of {and} is the newest film?', 'Among {and}, which film was released latest?', 'Which film is from the latest year: {or}?'],
    argminOfTwo: ['Was {a} or {b} released first?', 'Which film came out earlier, {a} or {b}?', 'Which film is older, {a} or {b}?'],
    argmaxOfTwo: ['Was {a} or {b} released last?', 'Which film came out later, {a} or {b}?', 'Which film is newer, {a} or {b}?'],
  },
  'film.minutes': {
    weight: 1,
    argmin: ['Which film is the shortest, {or}?', 'Of the films {and}, which has the shortest running time?', 'Which of {and} is the shortest film?', 'Among {and}, which film lasts the fewest minutes?'],
    argmax: ['Which film is the longest, {or}?', 'Of the films {and}, which has the longest running time?', 'Which of {and} is the longest film?', 'Among {and}, which film lasts the most minutes?'],
    argminOfTwo: ['Is {a} or {b} the shorter film?', 'Which film is shorter, {a} or {b}?'],
    argmaxOfTwo: ['Is {a} or {b} the longer film?', 'Which film is longer, {a} or {b}?'],
  },
  'player.birthYear': {
    weight: 4,
    argmin: ['Who was born first, {or}?', 'Of {and}, who is the oldest?', 'Who among {and} was born earliest?', 'Which baseball player has the earliest year of birth, {or}?', 'Who is the oldest of {and}?'],
    argmax: ['Who was born last, {or}?', 'Of {and}, who is the youngest?', 'Who among {and} was born latest?', 'Which baseball player has the latest year of birth, {or}?', 'Who is the youngest of {and}?'],
    argminOfTwo: ['Who is older, {a} or {b}?', 'Was {a} or {b} born first?', 'Who was born earlier, {a} or {b}?'],
    argmaxOfTwo: ['Who is younger, {a} or {b}?', 'Was {a} or {b} born last?', 'Who was born later, {a} or {b}?'],
  },
  'player.debutYear': {
    weight: 2,
    argmin: ['Who made the earliest debut, {or}?', 'Of {and}, whose debut came first?', 'Who among {and} was the first to reach the major leagues?', 'Which baseball player had the earliest debut, {or}?'],
    argmax: ['Who made the latest debut, {or}?', 'Of {and}, whose debut came last?', 'Who among {and} was the last to reach the major leagues?', 'Which baseball player had the latest debut, {or}?'],
    argminOfTwo: ['Whose debut was earlier, {a} or {b}?', 'Did {a} or {b} make the earlier debut?'],
    argmaxOfTwo: ['Whose debut was later, {a} or {b}?', 'Did {a} or {b} make the later debut?'],
  },
  'player.weight': {
    weight: 1,
    argmin: ['Who weighed the least, {or}?', 'Of {and}, who was the lightest?', 'Who among {and} had the lowest weight?', 'Which baseball player was the lightest, {or}?'],
    argmax: ['Who weighed the most, {or}?', 'Of {and}, who was the heaviest?', 'Who among {and} had the highest weight?', 'Which baseball player was the heaviest, {or}?'],
    argminOfTwo: ['Who was lighter, {a} or {b}?', 'Did {a} or {b} weigh less?'],
    argmaxOfTwo: ['Who was heavier, {a} or {b}?', 'Did {a} or {b} weigh more?'],
  },
  'airport.altitude': {
    weight: 0.6, maximum: 999,
    argmin: ['Which airport is the lowest, {or}?', 'Of {and}, which airport has the lowest elevation?', 'Which of {and} lies the lowest?', 'Among {and}, which airport is closest to sea level?'],
    argmax: ['Which airport is the highest, {or}?', 'Of {and}, which airport has the highest elevation?', 'Which of {and} lies the highest?', 'Among {and}, which airport is farthest above sea level?'],
    argminOfTwo: ['Which airport lies lower, {a} or {b}?', 'Is {a} or {b} the lower airport?'],
    argmaxOfTwo: ['Which airport lies higher, {a} or {b}?', 'Is {a} or {b} the higher airport?'],
  },
  'element.atomicNumber': {
    weight: 0.6,
    argmin: ['Which element has the lowest atomic number, {or}?', 'Of the elements {and}, which has the smallest atomic number?', 'Which of {and} comes first in the periodic table?', 'Among {and}, which element has the fewest protons?'],
    argmax: ['Which element has the highest atomic number, {or}?', 'Of the elements {and}, which has the largest atomic number?', 'Which of {and} comes last in the periodic table?', 'Among {and}, which element has the most protons?'],
    argminOfTwo: ['Does {a} or {b} have the lower atomic number?', 'Which element has fewer protons, {a} or {b}?'],
    argmaxOfTwo: ['Does {a} or {b} have the higher atomic number?', 'Which element has more protons, {a} or {b}?'],
  },
  'element.discoveryYear': {
    weight: 0.6,
    argmin: ['Which element was discovered first, {or}?', 'Of the elements {and}, which was discovered first?', 'Which of {and} was discovered earliest?', 'Among {and}, which element has been known the longest?'],
    argmax: ['Which element was discovered last, {or}?', 'Of the elements {and}, which was discovered last?', 'Which of {and} was discovered latest?', 'Among {and}, which element is the latest discovery?'],
    argminOfTwo: ['Was {a} or {b} discovered earlier?', 'Which element was discovered earlier, {a} or {b}?'],
    argmaxOfTwo: ['Was {a} or {b} discovered later?', 'Which element was discovered later, {a} or {b}?'],
  },
  'country.neighbours': {
    weight: 0.6,
    argmin: ['Which country has the fewest neighbours, {or}?', 'Of {and}, which country borders the fewest countries?', 'Which of {and} has the fewest neighbours by land?', 'Among {and}, which country has land borders with the fewest countries?'],
    argmax: ['Which country has the most neighbours, {or}?', 'Of {and}, which country borders the most countries?', 'Which of {and} has the most neighbours by land?', 'Among {and}, which country has land borders with the most countries?'],
    argminOfTwo: ['Does {a} or {b} have fewer neighbours?', 'Which country borders fewer countries, {a} or {b}?'],
    argmaxOfTwo: ['Does {a} or {b} have more neighbours?', 'Which country borders more countries, {a} or {b}?'],
  },
};

/** Whether two entities, or more, have the same value. */
export interface SameTemplate {
  weight: number;
  ofTwo: string[];
  ofMore: string[];
}

// prettier-ignore
export const SAMES: Record<string, SameTemplate> = {
  'city.country': {
    weight: 4,
    ofMore: ['Are {and} all in the same country?', 'Do {and} all belong to the same country?', 'Are the cities {and} all located in the same country?', 'Do the cities {and} all lie in the same country?'],
    ofTwo: ['Are {and} in the same country?', 'Are {and} both located in the same country?', 'Do {and} belong to the same country?', 'Are the cities {and} in the same country?'],
  },
  'usCity.state': {
    weight: 2,
    ofMore: ['Are {and} all in the same state?', 'Do {and} all belong to the same state?', 'Are the cities {and} all located in the same American state?', 'Do the cities {and} all lie in the same state?'],
    ofTwo: ['Are {and} in the same state?', 'Are {and} both located in the same American state?', 'Do {and} belong to the same state?', 'Are the cities {and} in the same state?'],
  },
  'film.director': {
    weight: 2,
    ofMore: ['Were {and} all directed by the same person?', 'Do the films {and} all have the same director?', 'Did the same director make {and}?', 'Are {and} all films by the same director?'],
    ofTwo: ['Were {and} directed by the same person?', 'Do the films {and} have the same director?', 'Did the same director make {and}?', 'Are {and} both films by the same director?'],
  },
  'film.distributor': {
    weight: 2,
    ofMore: ['Were {and} all distributed by the same company?', 'Do the films {and} all have the same distributor?', 'Did the same company distribute {and}?', 'Are {and} all films of the same distributor?'],
    ofTwo: ['Were {and} distributed by the same company?', 'Do the films {and} have the same distributor?', 'Did the same company distribute {and}?', 'Are {and} both films of the same distributor?'],
  },
  'player.college': {
    weight: 2,
    ofMore: ['Did {and} all attend the same college?', 'Did {and} all go to the same college?', 'Were {and} all at the same college?', 'Do {and} all have the same college?'],
    ofTwo: ['Did {and} attend the same college?', 'Did {and} both go to the same college?', 'Were {and} at the same college?', 'Do {and} have the same college?'],
  },
  'element.discoveryCountry': {
    weight: 0.5,
    ofMore: ['Were {and} all discovered in the same country?', 'Does the same country hold the discovery of {and}?', 'Were the elements {and} all found in the same country?', 'Do the elements {and} all have the same country of discovery?'],
    ofTwo: ['Were {and} discovered in the same country?', 'Were {and} both discovered in the same country?', 'Were the elements {and} found in the same country?', 'Do the elements {and} have the same country of discovery?'],
  },
  'country.subregion': {
    weight: 0.5,
    ofMore: ['Are {and} all in the same part of the world?', 'Do {and} all belong to the same region?', 'Are the countries {and} all located in the same region?', 'Do the countries {and} all lie in the same region of the world?'],
    ofTwo: ['Are {and} in the same part of the world?', 'Do {and} belong to the same region?', 'Are the countries {and} located in the same region?', 'Do {and} both lie in the same region of the world?'],
  },
};

/** Two chains side by side whose ends are compared: 2Wiki's bridge comparison. */
export interface BridgeTemplate {
  /** Share among them; 1 where nothing is said. */
  weight?: number;
  /** Type, the attribute that leads to the next entity, and the one that is compared. */
  path: string;
  /** The kinds of comparison that there are take turns. */
  argmin?: string[];
  argmax?: string[];
  same?: string[];
}

// prettier-ignore
export const BRIDGE_COMPARISONS: Record<string, BridgeTemplate> = {
  'airport-country': {
    path: 'airport.city.country',
    same: ['Are {and} airports of the same country?', 'Are {and} located in the same country?', 'Do {and} serve cities in the same country?', 'Are the airports {and} both in one country?'],
  },
  'college-state': {
    path: 'college.city.state',
    same: ['Are {and} colleges of the same state?', 'Are {and} located in the same state?', 'Do {and} stand in cities of the same state?', 'Are the colleges {and} both in one state?'],
  },
  'city-neighbours': {
    path: 'city.country.neighbours',
    argmin: ['Which city is in the country with fewer neighbours, {or}?', 'Does {a} or {b} lie in a country that borders fewer countries?', 'Of {and}, which city lies in the country with fewer neighbours?', 'Which of the cities {and} is in the country with fewer land borders?'],
    argmax: ['Which city is in the country with more neighbours, {or}?', 'Does {a} or {b} lie in a country that borders more countries?', 'Of {and}, which city lies in the country with more neighbours?', 'Which of the cities {and} is in the country with more land borders?'],
  },
};
