/**
 * Names for the warm-up's drills. Plain ones are made of invented words and words of real names. Unusual ones are what held-out
 * names can be and training names are not: titles with words that questions are asked with, names that begin alike, and
 * words of any tokens of the vocabulary.
 */
import type { Passage, Question } from '../../data/question.js';
import type { Random } from '../../random.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import { TOKEN_BREAK } from '../../training/supervised.js';

// Syllables of invented words.
const ONSETS = 'B Br C Ch D F G Gr H J K L M N P R S St T Tr V W Z Al El O A I U Y Sh Th Qu'.split(' ');
const NUCLEI = 'a e i o u ai ea ou ie an en in on ar er or al el'.split(' ');
const MIDDLES = 'l n r s t m d b k v g ll nn rd st nd th z p ck'.split(' ');
const ENDINGS = ['', ...'a o n s er y ton ez son ia us ey ard in land ski i e um'.split(' ')];

function inventedWord(random: Random): string {
  let word = random.choice(ONSETS) + random.choice(NUCLEI);
  const syllables = random.integer(2);
  for (let i = 0; i < syllables; i++) word += random.choice(MIDDLES) + random.choice(NUCLEI);
  return word + random.choice(MIDDLES) + random.choice(ENDINGS);
}

export { TOKEN_BREAK };

/** What names are made of: words and tokens of training text. */
export interface NameParts {
  /** Capitalised words of names. */
  nameWords: readonly string[];
  /** Words that questions are asked with. */
  questionWords: readonly string[];
  /** Capitalised words of passages. */
  passageWords: readonly string[];
  /** Tokens that begin a capitalised word: all, and those that are rare. */
  first: TokenList;
  /** Tokens that go on with a word. */
  further: TokenList;
}

interface TokenList {
  all: readonly string[];
  rare: readonly string[];
}

export interface NameMaker {
  name: (random: Random) => string;
  /** So many names, all different: those of one question. */
  names: (count: number, random: Random) => string[];
  /** A word of `ordinary`, or an unusual one. */
  word: (ordinary: readonly string[], random: Random) => string;
}

/** Tokens that training text holds less often are drawn as often as all others. */
const RARE = 20;

const wordsOf = (texts: readonly string[]): string[] => [
  ...new Set(texts.flatMap((text) => text.match(/\p{L}+/gu) ?? [])),
];

/** Tokens that are letters of a word, by whether they begin it. */
function letterTokens(texts: readonly string[], tokenizer: Tokenizer): Pick<NameParts, 'first' | 'further'> {
  const counts = new Map<number, number>();
  for (const id of texts.flatMap((text) => tokenizer.encode(text))) counts.set(id, (counts.get(id) ?? 0) + 1);
  const tokens = Array.from({ length: tokenizer.vocabSize }, (_, id) => ({
    id,
    text: tokenizer.decode([id]),
  }));
  const listOf = (pattern: RegExp): TokenList => {
    const found = tokens.filter(
      ({ id, text }) => pattern.test(text) && tokenizer.encode(text).join() === String(id),
    );
    const texts = (list: typeof found): string[] => list.map(({ text }) => text.trimStart());
    return { all: texts(found), rare: texts(found.filter(({ id }) => (counts.get(id) ?? 0) < RARE)) };
  };
  return { first: listOf(/^ \p{Lu}\p{L}*$/u), further: listOf(/^\p{L}+$/u) };
}

/** Parts out of training questions and the passages that may be read with them. */
export function nameParts(
  questions: readonly Question[],
  passages: readonly Passage[],
  tokenizer: Tokenizer,
): NameParts {
  const graphs = questions.flatMap(({ metadata }) => metadata.graph ?? []);
  const isCapitalised = (word: string): boolean => /^\p{Lu}/u.test(word);
  const entities = graphs.map(({ entity }) => entity);
  const inNames = new Set(wordsOf([...entities, ...graphs.flatMap(({ answers }) => answers)]));
  const asked = questions.map(({ question }) => question);
  const contents = passages.map((passage) => passage.contents);
  return {
    nameWords: [...new Set(entities.flatMap((name) => name.split(' ')))].filter((word) =>
      /^[A-Z]/.test(word),
    ),
    // What stands before `or` is a name's end.
    questionWords: wordsOf(asked).filter(
      (word) => word !== 'or' && !(isCapitalised(word) && inNames.has(word)),
    ),
    passageWords: wordsOf(contents).filter(isCapitalised),
    ...letterTokens([...asked, ...contents], tokenizer),
  };
}

function drawToken({ all, rare }: TokenList, random: Random): string {
  return random.choice(rare.length > 0 && random.uniform() < 0.5 ? rare : all);
}

/** A word of one to three tokens of the whole vocabulary. */
function wordOfTokens({ first, further }: NameParts, random: Random): string {
  const rest = Array.from({ length: random.integer(3) }, () => drawToken(further, random));
  return [drawToken(first, random), ...rest].join(TOKEN_BREAK);
}

/** A word in other tokens than its own. */
function brokenWord(word: string, random: Random): string {
  const place = 1 + random.integer(Math.max(1, word.length - 1));
  return word.slice(0, place) + TOKEN_BREAK + word.slice(place);
}

function unusualWord(parts: NameParts, random: Random): string {
  const kind = random.uniform();
  if (kind < 0.35) return wordOfTokens(parts, random);
  if (kind < 0.55) return random.choice(parts.passageWords);
  if (kind < 0.7) return brokenWord(random.choice(parts.passageWords), random);
  return kind < 0.85 ? random.choice(parts.nameWords) : inventedWord(random);
}

/** One to four words, each invented or taken from a real name. */
function plainName({ nameWords }: NameParts, random: Random): string {
  const count = 1 + [0, 0, 1, 1, 1, 1, 2, 2, 3][random.integer(9)];
  return Array.from({ length: count }, () =>
    random.uniform() < 0.5 ? inventedWord(random) : random.choice(nameWords),
  ).join(' ');
}

const JOINTS = [': ', '-', ' - ', "'s ", '. '];

/** A name of unusual words; half of them as titles are, with words of questions, a word twice, marks, a number at the end. */
function unusualName(parts: NameParts, random: Random): string {
  const count = 1 + [0, 0, 1, 1, 1, 1, 2, 2, 3, 4][random.integer(10)];
  const isTitle = random.uniform() < 0.5;
  const words: string[] = [];
  let name = '';
  for (let i = 0; i < count; i++) {
    const kind = isTitle ? random.uniform() : 1;
    const draw = (): string => {
      if (kind < 0.4) return random.choice(parts.questionWords);
      return kind < 0.45 && i > 0 ? words[i - 1] : unusualWord(parts, random);
    };
    words.push(draw());
    const joint = isTitle && random.uniform() < 0.15 ? random.choice(JOINTS) : ' ';
    name += (i === 0 ? '' : joint) + words[i];
  }
  return isTitle && random.uniform() < 0.1 ? `${name} ${1 + random.integer(13)}` : name;
}

/** Share of questions, of those with unusual names, in which names begin alike. */
const ALIKE_SHARE = 0.25;

/** Puts one word before some of the names. */
function beginAlike(names: readonly string[], parts: NameParts, random: Random): string[] {
  const word = random.uniform() < 0.4 ? 'The' : unusualWord(parts, random);
  return names.map((name) => (random.uniform() < 0.6 ? `${word} ${name}` : name));
}

/** @param unusualShare share of names that are unusual; 0 draws nothing else than plain ones */
export function createNameMaker(parts: NameParts, unusualShare: number): NameMaker {
  const isUnusual = (random: Random): boolean => unusualShare > 0 && random.uniform() < unusualShare;
  const name = (random: Random): string =>
    isUnusual(random) ? unusualName(parts, random) : plainName(parts, random);
  return {
    name,
    names: (count, random) => {
      const fresh = new Set<string>();
      while (fresh.size < count) fresh.add(name(random));
      const areAlike = isUnusual(random) && random.uniform() < ALIKE_SHARE;
      return areAlike ? beginAlike([...fresh], parts, random) : [...fresh];
    },
    word: (ordinary, random) => (isUnusual(random) ? unusualWord(parts, random) : random.choice(ordinary)),
  };
}
