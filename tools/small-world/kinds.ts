/**
 * What the small world contains: kinds of things, their attributes, and how passages and
 * questions word them. `{x}` is the thing, `{v}` the value. Each fact is worded in one of
 * two ways, each with a word of its own, so that no single word finds every passage;
 * `words` are those that do so together.
 */
import type { NameSort } from './names.js';

export const KINDS = [
  'film',
  'novel',
  'album',
  'director',
  'novelist',
  'singer',
  'company',
  'city',
  'country',
] as const;
export type Kind = (typeof KINDS)[number];

export interface Attribute {
  /** The type of values: years, other numbers, one of a list, or things of a kind. */
  value: 'year' | 'number' | readonly string[] | Kind;
  /** The two wordings of passages. */
  said: readonly [string, string];
  /** The words of a query that finds either wording. */
  words: string;
  /** Questions: an opening, and a clause with `{x}`. */
  openings: readonly string[];
  clauses: readonly string[];
  /** Noun phrases for the value, if it is a thing that further questions can be about. */
  phrases?: readonly string[];
  /** Clauses of comparisons by size, if any. */
  least?: readonly string[];
  most?: readonly string[];
}

interface KindSpec {
  names: NameSort;
  plural: string;
  /** Whether questions about it start with "who". */
  isPerson?: boolean;
  attributes: Readonly<Record<string, Attribute>>;
  /** Passages about other things, with years and numbers that answer nothing. */
  asides: readonly string[];
}

const WHEN = ['When', 'In which year', 'In what year'];
const WHERE = ['Where', 'In which city', 'In what city'];
const WHO = ['Who', 'Which person', 'What person'];
const COMPANY = ['Which company', 'What company', 'Which firm'];

const LIFE = {
  birth: {
    value: 'year',
    said: ['The {kind} was born in {v}.', 'The birth of this {kind} was in {v}.'],
    words: 'born birth',
    openings: WHEN,
    clauses: ['was {x} born', 'was the birth of {x}', 'did {x} come into the world'],
    least: ['was born first', 'is the oldest', 'has the earliest birth'],
    most: ['was born last', 'is the youngest', 'has the latest birth'],
  },
  hometown: {
    value: 'city',
    said: ['The {kind} grew up in {v}.', 'As a child the {kind} lived in {v}.'],
    words: 'grew up child lived',
    openings: WHERE,
    clauses: ['did {x} grow up', 'did {x} live as a child', 'is the home of {x}'],
    phrases: [
      'the home of {x}',
      'the city where {x} grew up',
      'the city where {x} lived as a child',
    ],
  },
  debut: {
    value: 'year',
    said: ['The {kind} made a debut in {v}.', 'The career of the {kind} began in {v}.'],
    words: 'debut career began',
    openings: WHEN,
    clauses: ['did {x} make a debut', 'was the debut of {x}', 'did the career of {x} begin'],
    least: ['made the earliest debut', 'had the first debut', 'began a career first'],
    most: ['made the latest debut', 'had the last debut', 'began a career last'],
  },
} satisfies Record<string, Attribute>;

const PERSON_ASIDES = [
  'The {kind} married in {year}.',
  'In {year} the {kind} won a prize.',
  'The {kind} moved house in {year}.',
  'The {kind} owned {number} paintings.',
  'A street was named after the {kind} in {year}.',
];

const person = (): KindSpec & { plural: '' } => ({
  names: 'person',
  plural: '',
  isPerson: true,
  attributes: LIFE,
  asides: PERSON_ASIDES,
});

export const SPECS: Readonly<Record<Kind, KindSpec>> = {
  film: {
    names: 'work',
    plural: 'films',
    attributes: {
      year: {
        value: 'year',
        said: ['The film was released in {v}.', 'The film came out in {v}.'],
        words: 'released came out',
        openings: WHEN,
        clauses: ['was {x} released', 'did {x} come out', 'did {x} appear'],
        least: ['came out first', 'was released first', 'is the oldest'],
        most: ['came out last', 'was released last', 'is the newest'],
      },
      director: {
        value: 'director',
        said: ['The film was directed by {v}.', 'The film was made by {v}.'],
        words: 'directed made',
        openings: WHO,
        clauses: ['directed {x}', 'made {x}', 'was the director of {x}'],
        phrases: ['the director of {x}', 'the person who directed {x}', 'the person who made {x}'],
      },
      studio: {
        value: 'company',
        said: ['The film was produced by {v}.', 'The film was paid for by {v}.'],
        words: 'produced paid',
        openings: COMPANY,
        clauses: ['produced {x}', 'paid for {x}', 'was the producer of {x}'],
        phrases: [
          'the company that produced {x}',
          'the company that paid for {x}',
          'the producer of {x}',
        ],
      },
      minutes: {
        value: 'number',
        said: ['The film runs {v} minutes.', 'The film lasts {v} minutes.'],
        words: 'minutes',
        openings: ['How many minutes', 'For how many minutes', 'How long in minutes'],
        clauses: ['does {x} run', 'does {x} last', 'will {x} run'],
        least: ['is the shortest', 'runs the fewest minutes', 'lasts the fewest minutes'],
        most: ['is the longest', 'runs the most minutes', 'lasts the most minutes'],
      },
    },
    asides: [
      'The film won a prize in {year}.',
      'The film was restored in {year}.',
      'A festival showed the film in {year}.',
      'The film cost {number} thousand.',
    ],
  },
  novel: {
    names: 'work',
    plural: 'novels',
    attributes: {
      year: {
        value: 'year',
        said: ['The novel was published in {v}.', 'The novel first appeared in {v}.'],
        words: 'published first appeared',
        openings: WHEN,
        clauses: ['was {x} published', 'did {x} appear', 'did {x} come out'],
        least: ['appeared first', 'was published first', 'is the oldest'],
        most: ['appeared last', 'was published last', 'is the newest'],
      },
      author: {
        value: 'novelist',
        said: ['The novel was written by {v}.', 'The author of the novel is {v}.'],
        words: 'written author',
        openings: WHO,
        clauses: ['wrote {x}', 'was the author of {x}', 'is the author of {x}'],
        phrases: ['the author of {x}', 'the person who wrote {x}', 'the writer of {x}'],
      },
      publisher: {
        value: 'company',
        said: ['The novel was printed by {v}.', 'The novel was sold by {v}.'],
        words: 'printed sold',
        openings: COMPANY,
        clauses: ['printed {x}', 'sold {x}', 'was the publisher of {x}'],
        phrases: [
          'the company that printed {x}',
          'the company that sold {x}',
          'the publisher of {x}',
        ],
      },
      pages: {
        value: 'number',
        said: ['The novel has {v} pages.', 'The novel fills {v} pages.'],
        words: 'pages',
        openings: ['How many pages', 'What number of pages', 'How long in pages'],
        clauses: ['does {x} have', 'does {x} fill', 'has {x}'],
        least: ['is the shortest', 'has the fewest pages', 'fills the fewest pages'],
        most: ['is the longest', 'has the most pages', 'fills the most pages'],
      },
    },
    asides: [
      'The novel won a prize in {year}.',
      'The novel was translated in {year}.',
      'A theatre showed the novel in {year}.',
      'The novel has {number} chapters.',
    ],
  },
  album: {
    names: 'work',
    plural: 'albums',
    attributes: {
      year: {
        value: 'year',
        said: ['The album was issued in {v}.', 'Shops had the album in {v}.'],
        words: 'issued shops',
        openings: WHEN,
        clauses: ['was {x} issued', 'did {x} come out', 'did {x} appear'],
        least: ['came out first', 'was issued first', 'is the oldest'],
        most: ['came out last', 'was issued last', 'is the newest'],
      },
      singer: {
        value: 'singer',
        said: ['The album was sung by {v}.', 'The voice on the album is {v}.'],
        words: 'sung voice',
        openings: WHO,
        clauses: ['sang on {x}', 'is the voice on {x}', 'was the singer of {x}'],
        phrases: ['the singer of {x}', 'the person who sang on {x}', 'the voice on {x}'],
      },
      label: {
        value: 'company',
        said: ['The album was recorded by {v}.', 'The album was pressed by {v}.'],
        words: 'recorded pressed',
        openings: COMPANY,
        clauses: ['recorded {x}', 'pressed {x}', 'was the label of {x}'],
        phrases: [
          'the company that recorded {x}',
          'the company that pressed {x}',
          'the label of {x}',
        ],
      },
      minutes: {
        value: 'number',
        said: ['The album plays {v} minutes.', 'The album lasts {v} minutes.'],
        words: 'minutes',
        openings: ['How many minutes', 'For how many minutes', 'How long in minutes'],
        clauses: ['does {x} play', 'does {x} last', 'will {x} play'],
        least: ['is the shortest', 'plays the fewest minutes', 'lasts the fewest minutes'],
        most: ['is the longest', 'plays the most minutes', 'lasts the most minutes'],
      },
    },
    asides: [
      'The album won a prize in {year}.',
      'The album was copied in {year}.',
      'A radio played the album in {year}.',
      'The album was on a list for {number} days.',
    ],
  },
  director: { ...person(), plural: 'directors' },
  novelist: { ...person(), plural: 'novelists' },
  singer: { ...person(), plural: 'singers' },
  company: {
    names: 'company',
    plural: 'companies',
    attributes: {
      founded: {
        value: 'year',
        said: ['The company was founded in {v}.', 'The company started in {v}.'],
        words: 'founded started',
        openings: WHEN,
        clauses: ['was {x} founded', 'did {x} start', 'did {x} begin'],
        least: ['was founded first', 'started first', 'is the oldest'],
        most: ['was founded last', 'started last', 'is the newest'],
      },
      seat: {
        value: 'city',
        said: ['The company is based in {v}.', 'The seat of the company is {v}.'],
        words: 'based seat',
        openings: WHERE,
        clauses: ['is {x} based', 'is the seat of {x}', 'is the home of {x}'],
        phrases: ['the seat of {x}', 'the city where {x} is based', 'the home of {x}'],
      },
    },
    asides: [
      'The company lost a case in {year}.',
      'The company was sold in {year}.',
      'The company changed its name in {year}.',
      'The company has {number} workers.',
    ],
  },
  city: {
    names: 'city',
    plural: 'cities',
    attributes: {
      country: {
        value: 'country',
        said: ['The city lies in {v}.', 'The city belongs to {v}.'],
        words: 'lies belongs',
        openings: ['In which country', 'In what country', 'Inside which country'],
        clauses: ['is {x}', 'does {x} lie', 'can one find {x}'],
        phrases: [
          'the country of {x}',
          'the country where {x} lies',
          'the country that {x} belongs to',
        ],
      },
      founded: {
        value: 'year',
        said: ['The city was founded in {v}.', 'People settled in the city in {v}.'],
        words: 'founded settled',
        openings: WHEN,
        clauses: ['was {x} founded', 'did people settle in {x}', 'did {x} begin'],
        least: ['was founded first', 'was settled first', 'is the oldest'],
        most: ['was founded last', 'was settled last', 'is the newest'],
      },
    },
    asides: [
      'The city burned in {year}.',
      'The city built a bridge in {year}.',
      'The city has {number} schools.',
      'A flood hit the city in {year}.',
    ],
  },
  country: {
    names: 'country',
    plural: 'countries',
    attributes: {
      currency: {
        value: 'crown dinar dollar florin franc guilder mark penny peso pound rupee shilling'.split(
          ' ',
        ),
        said: [
          'People in the country pay with the {v}.',
          'The currency of the country is the {v}.',
        ],
        words: 'pay currency',
        openings: ['Which currency', 'What currency', 'Which money'],
        clauses: ['does {x} have', 'do people pay with in {x}', 'is used in {x}'],
      },
      language: {
        value:
          'Arabic Czech Danish Dutch English Finnish French German Greek Hindi Italian Polish'.split(
            ' ',
          ),
        said: ['People in the country speak {v}.', 'The language of the country is {v}.'],
        words: 'speak language',
        openings: ['Which language', 'What language', 'Which tongue'],
        clauses: ['does {x} have', 'do people speak in {x}', 'is used in {x}'],
      },
    },
    asides: [
      'The country wrote new laws in {year}.',
      'The country built a railway in {year}.',
      'The country has {number} lakes.',
      'The country held games in {year}.',
    ],
  },
};

export const findAttribute = (kind: Kind, attribute: string): Attribute =>
  SPECS[kind].attributes[attribute];
