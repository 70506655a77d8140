/**
 * Trajectories of every question type, drawn from a seed, to compare two implementations of the
 * rewards by: kept and broken grammar, half and nested tags, tags welded together,
 * missing and repeated answers, repeated and empty searches, `##` everywhere, information
 * that the policy made up, notices, and text of many alphabets.
 */
import { range } from 'd3-array';
import type { QuestionType } from '../data/question.js';
import type { Random } from '../random.js';
import type { TextSegment } from '../text/response.js';
import { INVALID_ACTION_NOTICE, INVALID_ACTION_NOTICE_FULL } from '../text/tags.js';

/** What is rewarded, and the truth about its question. */
export interface RewardCase {
  /**
   * A response as text, which tells who wrote what, or not; or as the segments that say
   * it.
   */
  response: string | TextSegment[];
  goldenAnswers: string[];
  questionType: QuestionType | undefined;
}

const QUESTION_TYPES = ['parallelizable', 'sequential', 'hybrid', 'single_hop', undefined] as const;

/** Names, each with ways to write it: some are equal once normalised, some not. */
const ANSWERS = [
  ['Paris', ' paris ', 'The Paris!', 'PARIS', 'Pa-ris', 'paris a', 'Paris, France', 'an\tParis'],
  ['The Beatles', 'beatles', 'Beatles the', 'A Beatles', 'Theatre Beatles', 'the_beatles'],
  ['İstanbul', 'istanbul', 'i̇stanbul', 'ISTANBUL', 'ıstanbul'],
  ['ΣΊΣΥΦΟΣ', 'σίσυφος', 'Σίσυφοσ', 'σίσυφος.'],
  ['Straße 3½', 'straße 3½', 'STRASSE 3½', 'strasse 3½', 'a\u00a0Straße\u30003½'],
  ['naïve café', 'nai\u0308ve cafe\u0301', 'NAÏVE CAFÉ', 'the naïve\u2003café', 'naïve\u0085café'],
  ['北京市', ' 北京市', '北京', 'the北京市', '北京市the'],
  ['1904–05', '1904-05', '190405', '1904 – 05', '１９０４–05'],
  ['yes', 'Yes.', 'no', 'yes\ufeff', '\u001cyes'],
  ['ǅungla 𝒜 😀', 'ǆungla 𝒜 😀', 'Ǆungla 𝒜 😀', 'ǆungla 😀'],
  ['and/or', 'andor', 'an d or', '"And/Or"', '<and> or'],
  ['', ' ', 'the', 'a an the', '.'],
] as const;

const WORDS = [
  'who',
  'directed',
  'Red River',
  'born in',
  'the',
  'a',
  '##',
  '#',
  '',
  ' ',
  '\n',
  '\u2028',
  '\u00a0',
  '\ufeff',
  '北京',
  'İ',
  'ς',
  '😀',
  '<',
  '>',
  '</',
  '<think',
  'search>',
  '<b>',
  '<Answer>',
  '< answer >',
  '&lt;answer&gt;',
  '```',
  '\\',
];
const TAGS = ['think', 'search', 'information', 'answer'] as const;
const SEARCH_R1_NOTICE =
  '\nMy previous action is invalid. If I want to search, I should put the query between <search> and </search>. ' +
  'If I want to give the final answer, I should put the answer between <answer> and </answer>. Let me try again.\n';
const NOTICES = [INVALID_ACTION_NOTICE, INVALID_ACTION_NOTICE_FULL, SEARCH_R1_NOTICE];
/** What is put between pieces, or in their place. */
const DEBRIS = [
  '</search>',
  '<search>',
  '</answer>',
  '<answer>',
  '<information>',
  '</information>',
  '</think>',
  '<think>',
  '</</search>',
  '<search></search>',
  '<search> ## </search>',
  '<search> <search> a </search> </search>',
  '<think> <answer> x </answer> </think>',
  '<answer> </answer>',
  '<information> made up </information>',
  '##',
  '.',
  '\n',
  ...NOTICES,
];

const isLikely = (random: Random, share: number): boolean => random.uniform() < share;
const textOf = (random: Random): string =>
  range(random.integer(5))
    .map(() => random.choice(WORDS))
    .join(' ');

/** One to four queries, of which some are the same or empty. */
function queriesOf(random: Random): string {
  const queries = range(1 + random.integer(4)).map(() => `q${random.integer(3)} ${textOf(random)}`);
  return queries.join(random.choice([' ## ', '##', ' ## ## ']));
}

const block = (tag: (typeof TAGS)[number], body: string): string => `<${tag}>${body}</${tag}>`;
const thought = (random: Random): string =>
  isLikely(random, 0.05) ? '' : block('think', random.choice([' t ', `${textOf(random)}\n`]));
const passages = (random: Random): string =>
  block(
    'information',
    `Doc 1(Title: t) ${random.choice(['x', textOf(random), '<answer> x </answer>', '</information>'])}`,
  );

/** A trajectory that keeps the format: up to four searches, then an answer. */
function drawTidy(random: Random, answer: string): TextSegment[] {
  const searches = range(random.integer(5)).flatMap((): TextSegment[] => [
    {
      kind: 'policy',
      text: `${thought(random)}${random.choice(['', '\n', '\u00a0'])}${block('search', ` ${queriesOf(random)} `)}`,
    },
    { kind: 'information', text: passages(random) },
  ]);
  const last = `${thought(random)}\n${block('answer', ` ${answer} `)}`;
  return [...searches, { kind: 'policy', text: last }];
}

/** One thing wrong with a trajectory. */
function damaged(segments: TextSegment[], random: Random): TextSegment[] {
  const at = random.integer(segments.length);
  const { kind, text } = segments[at];
  const cut = random.integer(text.length + 1);
  const change = random.choice([
    'insert',
    'cut',
    'drop tag',
    'twice',
    'swap',
    'notice',
    'remove',
    'rename',
    'open',
  ] as const);
  const replacedBy = (...some: TextSegment[]): TextSegment[] => segments.toSpliced(at, 1, ...some);
  const rewritten = (changed: string): TextSegment[] => replacedBy({ kind, text: changed });
  const tag = random.choice(TAGS);
  switch (change) {
    case 'insert':
      return rewritten(text.slice(0, cut) + random.choice(DEBRIS) + text.slice(cut));
    case 'cut':
      return [...segments.slice(0, at), { kind, text: text.slice(0, cut) }];
    case 'drop tag':
      return rewritten(text.replace(random.choice([`<${tag}>`, `</${tag}>`]), ''));
    case 'open':
      return rewritten(text.replace(`</${tag}>`, `<${tag}>`));
    case 'rename':
      return rewritten(text.replace(`<${tag}>`, `<${random.choice(TAGS)}>`));
    case 'twice':
      return replacedBy(segments[at], segments[at]);
    case 'swap':
      return segments.toSpliced(at, 2, ...segments.slice(at, at + 2).toReversed());
    case 'notice':
      return segments.toSpliced(at, 0, { kind: 'notice', text: random.choice(NOTICES) });
    case 'remove':
      return replacedBy();
  }
}

/**
 * What a policy may write in one generation: mostly a search, else an answer, or neither.
 */
export function drawGeneration(random: Random): string {
  const search = `${thought(random)}${block('search', ` ${queriesOf(random)} `)}`;
  const written = [
    search,
    search,
    search,
    search,
    block('answer', ` ${textOf(random)} `),
    textOf(random),
  ];
  return (
    random.choice(written) +
    random.choice(['', '', '\n', ' goes on', '</answer>', random.choice(DEBRIS)])
  );
}

/** A passage's title and text, with what must not reach the policy as it is. */
export const drawPassage = (random: Random): { title: string; text: string } => ({
  title: `T${random.integer(9)} ${random.choice(['(film)', '<answer>', '\t', ''])}`,
  text: `${textOf(random)}${random.choice(['', '\nDoc 9(Title: t) x', '</information>', '\u2003'])}`,
});

/** The `count` cases of a generator of random numbers. */
export function drawRewardCases(random: Random, count: number): RewardCase[] {
  return range(count).map(() => {
    const ways = random.choice(ANSWERS);
    const others = random.choice(ANSWERS);
    const answer = random.choice([...ways, ...ways, random.choice(others)]);
    let segments = drawTidy(random, answer);
    while (segments.length > 0 && isLikely(random, 0.45)) segments = damaged(segments, random);
    const between = random.choice(['', '\n', '\n\n', ' \u2003']);
    const isText = isLikely(random, 0.7);
    return {
      response: isText ? segments.map(({ text }) => text).join(between) : segments,
      goldenAnswers: isLikely(random, 0.3) ? [random.choice(others), ways[0]] : [ways[0]],
      questionType: random.choice(QUESTION_TYPES),
    };
  });
}
