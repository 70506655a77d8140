/**
 * Makes questions from encyclopaedia passages, because the benchmarks have too few
 * annotated training questions to learn to read from: what an opening sentence states
 * about its subject, asked in 2WikiMultiHopQA's words.
 */
import { range } from 'd3-array';
import type { Passage } from '../../lib/data/passage.js';
import type { Question, SubQuestion } from '../../lib/data/question.js';
import type { Random } from '../../lib/random.js';
import { splitWords } from '../../lib/text/words.js';

const MONTHS =
  'January|February|March|April|May|June|July|August|September|October|November|December';
const DATE = `(?:\\d{1,2} (?:${MONTHS}),? \\d{4}|(?:${MONTHS}) \\d{1,2}, \\d{4})`;
const BORN = new RegExp(`^[^()]{3,60}\\([^()]{0,60}?\\bborn (?:[^()\\d]{0,40})?(${DATE})`);
const LIFE = new RegExp(
  `^[^()]{3,60}\\([^()]{0,60}?(${DATE})[^()\\d]{0,30}[–-][^()\\d]{0,30}(${DATE})`,
);
const NATIONALITY =
  /\) (?:is|was) an? (\p{Lu}\p{L}+(?:ian|ean|can|ish|ese|nch|tch|man|ani|eli|eek|iss)) /u;
const FILM = /^[^.]{3,90}? (?:is|was) an? (\d{4}) [^.]{0,60}?\bfilm\b/;
const NAME = "(?:\\p{Lu}\\.|\\p{Lu}[\\p{L}'’-]+)";
const DIRECTED = new RegExp(
  `\\bdirected (?:and [a-z]+ )?by (${NAME}(?: ${NAME}){1,3})(?=[ ,.;])`,
  'u',
);

/** What a passage states about its subject. */
interface Subject {
  title: string;
  passage: string;
  facts: Partial<Record<Attribute, string>>;
}

type Attribute = keyof typeof SINGLE;

/** Questions about one attribute; `#` is the subject. */
const SINGLE = {
  'date of birth': ['When was # born?', 'What is the date of birth of #?'],
  'date of death': ['When did # die?', "What is #'s date of death?"],
  'country of citizenship': ['What nationality is #?', "What is #'s nationality?"],
  'publication date': ['When did the film # come out?', 'When was # released?'],
  director: ['Who directed #?', 'Who is the director of film #?', 'Who directed the film #?'],
};
/** Questions that compare two subjects, by whose answer it is. */
const ORDERED = {
  'date of birth': {
    first: [
      'Who was born first, # or #?',
      'Who was born earlier, # or #?',
      'Who is older, # or #?',
    ],
    last: ['Who was born later, # or #?', 'Who is younger, # or #?'],
  },
  'date of death': {
    first: ['Who died first, # or #?', 'Who died earlier, # or #?'],
    last: ['Who died later, # or #?'],
  },
  'publication date': {
    first: [
      'Which film came out first, # or #?',
      'Which film was released first, # or #?',
      'Which film came out earlier, # or #?',
    ],
    last: ['Which film was released more recently, # or #?', 'Which film came out later, # or #?'],
  },
};
const COMPARED = [
  'date of birth',
  'date of death',
  'publication date',
  'country of citizenship',
] as const;
const SAME = [
  'Are # and # of the same nationality?',
  'Were # and # of the same nationality?',
  'Do # and # have the same nationality?',
  'Did # and # share the same nationality?',
];
/** Questions about a film's director. */
const OF_DIRECTOR = {
  'date of birth': [
    'When was the director of film # born?',
    'What is the date of birth of the director of film #?',
  ],
  'date of death': [
    'When did the director of film # die?',
    'What is the date of death of the director of film #?',
  ],
  'country of citizenship': ['What nationality is the director of film #?'],
};

const fill = (template: string, names: readonly string[]): string =>
  names.reduce((text, name) => text.replace('#', () => name), template);

/** The title as questions name it: `Chameleon` for `Chameleon (1995 film) -`. */
export const plainTitle = (title: string): string =>
  title.replace(/ -$/, '').replace(/ \([^)]*\)$/, '');

/** Parses the first sentence; undefined if it is not about the title. */
function readSubject({ id, title, text }: Passage): Subject | undefined {
  const name = plainTitle(title);
  if (splitWords(name)[0] === undefined || splitWords(name)[0] !== splitWords(text)[0]) return;
  const opening = text.slice(0, 400);
  const film = FILM.exec(opening);
  const life = LIFE.exec(opening);
  const facts = film
    ? { 'publication date': film[1], director: DIRECTED.exec(opening)?.[1] }
    : {
        'date of birth': life?.[1] ?? BORN.exec(opening)?.[1],
        'date of death': life?.[2],
        'country of citizenship': NATIONALITY.exec(opening)?.[1],
      };
  if (!film && facts['date of birth'] === undefined) return;
  return { title: name, passage: id, facts };
}

const node = (
  { title: entity, passage, facts }: Subject,
  attribute: Attribute,
  place: Pick<SubQuestion, 'id' | 'dependsOn'>,
): SubQuestion => ({
  ...place,
  question: `What is the ${attribute} of ${entity}?`,
  entity,
  attribute,
  query: `${entity} ${attribute}`,
  answers: [facts[attribute]!],
  evidence: [passage],
});

type Unnumbered = Omit<Question, 'id'>;

const create = (
  type: string,
  question: string,
  { answer, graph }: { answer: string; graph: SubQuestion[] },
): Unnumbered => {
  const metadata = { benchmark: 'made', type, graph };
  return { question, goldenAnswers: [answer], split: 'train', metadata };
};

/** Draws pairs until one is acceptable. */
function drawPair(
  pool: readonly Subject[],
  random: Random,
  isWanted: (a: Subject, b: Subject) => boolean,
): Subject[] {
  for (;;) {
    const [a, b] = [random.choice(pool), random.choice(pool)];
    if (a.title !== b.title && isWanted(a, b)) return [a, b];
  }
}

/** Both subjects of a comparison, to be asked about at once. */
const compared = (pair: readonly Subject[], attribute: Attribute): SubQuestion[] =>
  pair.map((subject, i) => node(subject, attribute, { id: `q${i + 1}`, dependsOn: [] }));

const titles = (pair: readonly Subject[]): string[] => pair.map(({ title }) => title);

/** Asks whether two people have the same nationality; half of the pairs do. */
function compareNationality(pool: readonly Subject[], random: Random): Unnumbered {
  const attribute = 'country of citizenship';
  const isSame = random.uniform() < 0.5;
  const isWanted = (a: Subject, b: Subject): boolean =>
    (a.facts[attribute] === b.facts[attribute]) === isSame;
  const pair = drawPair(pool, random, isWanted);
  const truth = { answer: isSame ? 'yes' : 'no', graph: compared(pair, attribute) };
  return create('comparison', fill(random.choice(SAME), titles(pair)), truth);
}

/** Asks which of two subjects has the earlier or later date; the years differ. */
function compareDates(
  pool: readonly Subject[],
  attribute: keyof typeof ORDERED,
  random: Random,
): Unnumbered {
  const year = ({ facts }: Subject): number => new Date(facts[attribute]!).getFullYear();
  const pair = drawPair(pool, random, (a, b) => Math.abs(year(a) - year(b)) > 0);
  const wanted = random.choice(['first', 'last'] as const);
  const isFirst = year(pair[0]) < year(pair[1]) === (wanted === 'first');
  const truth = { answer: pair[isFirst ? 0 : 1].title, graph: compared(pair, attribute) };
  return create('comparison', fill(random.choice(ORDERED[attribute][wanted]), titles(pair)), truth);
}

/**
 * Draws questions of each type.
 * @param passages their sources, without passages that test questions are about
 */
export function makeQuestions(
  passages: readonly Passage[],
  numbers: { comparisons: number; chains: number; singleHop: number },
  random: Random,
): Question[] {
  const subjects = passages.flatMap((passage) => readSubject(passage) ?? []);
  const byTitle = new Map(subjects.map((subject) => [subject.title, subject]));
  const known = (attribute: Attribute): Subject[] =>
    subjects.filter(({ facts }) => facts[attribute] !== undefined);
  const pools = new Map((Object.keys(SINGLE) as Attribute[]).map((name) => [name, known(name)]));
  const chains = pools.get('director')!.flatMap((film) => {
    const director = byTitle.get(film.facts.director!);
    if (!director) return [];
    const attributes = (Object.keys(OF_DIRECTOR) as (keyof typeof OF_DIRECTOR)[]).filter(
      (attribute) => director.facts[attribute] !== undefined,
    );
    return attributes.map((attribute) => ({ film, director, attribute }));
  });
  const compare = (): Unnumbered => {
    const attribute = random.choice(COMPARED);
    const pool = pools.get(attribute)!;
    return attribute === 'country of citizenship'
      ? compareNationality(pool, random)
      : compareDates(pool, attribute, random);
  };
  const chain = (): Unnumbered => {
    const { film, director, attribute } = random.choice(chains);
    const graph = [
      node(film, 'director', { id: 'q1', dependsOn: [] }),
      node(director, attribute, { id: 'q2', dependsOn: ['q1'] }),
    ];
    const question = fill(random.choice(OF_DIRECTOR[attribute]), [film.title]);
    return create('compositional', question, { answer: director.facts[attribute]!, graph });
  };
  const lookUp = (): Unnumbered => {
    const attribute = random.choice([...pools.keys()]);
    const subject = random.choice(pools.get(attribute)!);
    return create('single_hop', fill(random.choice(SINGLE[attribute]), [subject.title]), {
      answer: subject.facts[attribute]!,
      graph: [node(subject, attribute, { id: 'q1', dependsOn: [] })],
    });
  };
  return [
    ...range(numbers.comparisons).map(compare),
    ...range(numbers.chains).map(chain),
    ...range(numbers.singleHop).map(lookUp),
  ].map((question, i) => ({ id: `made-${i + 1}`, ...question }));
}
