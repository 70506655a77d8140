/**
 * Questions made from encyclopaedia passages, since the benchmarks' annotated training
 * questions are too few to learn to read from: what an opening sentence states about its
 * subject, asked in 2WikiMultiHopQA's words.
 */
import { range } from 'd3-array';
import type { Passage, Question, SubQuestion } from '../../data/question.js';
import type { Random } from '../../random.js';
import { splitWords } from '../../text/words.js';

const MONTHS =
  'January|February|March|April|May|June|July|August|September|October|November|December';
const DATE = `(?:\\d{1,2} (?:${MONTHS}),? \\d{4}|(?:${MONTHS}) \\d{1,2}, \\d{4})`;
const BORN = new RegExp(`^[^()]{3,60}\\([^()]{0,60}?\\bborn (?:[^()\\d]{0,40})?(${DATE})`);
const LIFE = new RegExp(`^[^()]{3,60}\\([^()]{0,60}?(${DATE})[^()\\d]{0,30}[–-][^()\\d]{0,30}(${DATE})`);
const NATIONALITY = /\) (?:is|was) an? (\p{Lu}\p{L}+(?:ian|ean|can|ish|ese|nch|tch|man|ani|eli|eek|iss)) /u;
const FILM = /^[^.]{3,90}? (?:is|was) an? (\d{4}) [^.]{0,60}?\bfilm\b/;
const NAME = "(?:\\p{Lu}\\.|\\p{Lu}[\\p{L}'’-]+)";
const DIRECTED = new RegExp(`\\bdirected (?:and [a-z]+ )?by (${NAME}(?: ${NAME}){1,3})(?=[ ,.;])`, 'u');

/** What is known of a passage's subject. */
interface Subject {
  title: string;
  passage: string;
  facts: Partial<Record<Attribute, string>>;
}

type Attribute = keyof typeof SINGLE;

/** A question about one attribute; `#` is the subject. */
const SINGLE = {
  'date of birth': ['When was # born?', 'What is the date of birth of #?'],
  'date of death': ['When did # die?', "What is #'s date of death?"],
  'country of citizenship': ['What nationality is #?', "What is #'s nationality?"],
  'publication date': ['When did the film # come out?', 'When was # released?'],
  director: ['Who directed #?', 'Who is the director of film #?', 'Who directed the film #?'],
};
/** Questions that compare two subjects, by whose answer it is. */
const ORDERED: Partial<Record<Attribute, { first: string[]; last: string[] }>> = {
  'date of birth': {
    first: ['Who was born first, # or #?', 'Who was born earlier, # or #?', 'Who is older, # or #?'],
    last: ['Who was born later, # or #?', 'Who is younger, # or #?'],
  },
  'date of death': {
    first: ['Who died first, # or #?', 'Who died earlier, # or #?'],
    last: ['Who died later, # or #?'],
  },
  'publication date': {
    first: ['Which film came out first, # or #?', 'Which film was released first, # or #?', 'Which film came out earlier, # or #?'],
    last: ['Which film was released more recently, # or #?', 'Which film came out later, # or #?'],
  },
};
const SAME = [
  'Are # and # of the same nationality?',
  'Were # and # of the same nationality?',
  'Do # and # have the same nationality?',
  'Did # and # share the same nationality?',
];
/** Questions about a film's director. */
const OF_DIRECTOR: Partial<Record<Attribute, string[]>> = {
  'date of birth': ['When was the director of film # born?', "What is the date of birth of the director of film #?"],
  'date of death': ['When did the director of film # die?', "What is the date of death of the director of film #?"],
  'country of citizenship': ['What nationality is the director of film #?'],
};

const fill = (template: string, names: readonly string[]): string =>
  names.reduce((text, name) => text.replace('#', () => name), template);

/** `Chameleon (1995 film) -` -> `Chameleon`, as questions name it. */
const plainTitle = (title: string): string => title.replace(/ -$/, '').replace(/ \([^)]*\)$/, '');

/** What the first sentence says; undefined if it is not about the title. */
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

function node(subject: Subject, attribute: Attribute, dependsOn: string[], id: string): SubQuestion {
  const { title: entity, passage } = subject;
  const query = `${entity} ${attribute}`;
  const question = `What is the ${attribute} of ${entity}?`;
  return { id, question, entity, attribute, query, dependsOn, answers: [subject.facts[attribute]!], evidence: [passage] };
}

const has = (attribute: Attribute) => (subject: Subject) => subject.facts[attribute] !== undefined;

export interface MadeNumbers {
  comparisons: number;
  chains: number;
  singleHop: number;
}

/**
 * Draws questions of each type.
 * @param passages their sources; leave out those that test questions are about
 */
export function makeQuestions(
  passages: readonly Passage[],
  numbers: MadeNumbers,
  random: Random,
): Question[] {
  const subjects = passages.flatMap((passage) => readSubject(passage) ?? []);
  const byName = new Map(subjects.map((subject) => [subject.title, subject]));
  const withFact = new Map(
    (Object.keys(SINGLE) as Attribute[]).map((attribute) => [attribute, subjects.filter(has(attribute))]),
  );
  const chains = withFact.get('director')!.flatMap((film) => {
    const director = byName.get(film.facts.director!);
    return director && has('date of birth')(director) ? [{ film, director }] : [];
  });
  const create = (type: string, question: string, answer: string, graph: SubQuestion[]): Omit<Question, 'id'> => ({
    question,
    goldenAnswers: [answer],
    split: 'train',
    metadata: { benchmark: 'made', type, graph },
  });
  const drawPair = (pool: readonly Subject[]): [Subject, Subject] => {
    for (;;) {
      const pair: [Subject, Subject] = [random.choice(pool), random.choice(pool)];
      if (pair[0].title !== pair[1].title) return pair;
    }
  };
  const compare = (): Omit<Question, 'id'> => {
    const attribute = random.choice(['date of birth', 'date of death', 'publication date', 'country of citizenship'] as const);
    const graph = (pair: readonly Subject[]) => pair.map((one, i) => node(one, attribute, [], `q${i + 1}`));
    const ordered = ORDERED[attribute];
    if (!ordered) {
      const wantsSame = random.uniform() < 0.5;
      for (;;) {
        const pair = drawPair(withFact.get(attribute)!);
        const isSame = pair[0].facts[attribute] === pair[1].facts[attribute];
        if (isSame === wantsSame)
          return create('comparison', fill(random.choice(SAME), pair.map(({ title }) => title)), isSame ? 'yes' : 'no', graph(pair));
      }
    }
    for (;;) {
      const pair = drawPair(withFact.get(attribute)!);
      const [a, b] = pair.map(({ facts }) => Date.parse(facts[attribute]!));
      if (Number.isNaN(a) || Number.isNaN(b) || new Date(a).getFullYear() === new Date(b).getFullYear()) continue;
      const wanted = random.choice(['first', 'last'] as const);
      const answer = pair[(a < b) === (wanted === 'first') ? 0 : 1].title;
      return create('comparison', fill(random.choice(ordered[wanted]), pair.map(({ title }) => title)), answer, graph(pair));
    }
  };
  const chain = (): Omit<Question, 'id'> => {
    for (;;) {
      const { film, director } = random.choice(chains);
      const attribute = random.choice(Object.keys(OF_DIRECTOR) as Attribute[]);
      if (!has(attribute)(director)) continue;
      const question = fill(random.choice(OF_DIRECTOR[attribute]!), [film.title]);
      const graph = [node(film, 'director', [], 'q1'), node(director, attribute, ['q1'], 'q2')];
      return create('compositional', question, director.facts[attribute]!, graph);
    }
  };
  const lookUp = (): Omit<Question, 'id'> => {
    const attribute = random.choice(Object.keys(SINGLE) as Attribute[]);
    const subject = random.choice(withFact.get(attribute)!);
    return create('single_hop', fill(random.choice(SINGLE[attribute]), [subject.title]), subject.facts[attribute]!, [
      node(subject, attribute, [], 'q1'),
    ]);
  };
  return [
    ...range(numbers.comparisons).map(compare),
    ...range(numbers.chains).map(chain),
    ...range(numbers.singleHop).map(lookUp),
  ].map((question, i) => ({ id: `made-${i + 1}`, ...question }));
}
