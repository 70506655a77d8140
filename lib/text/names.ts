/** Finds proper names in English text by capital letters and quotes. */
import { formatList } from './english.js';
import { foldText, splitWords } from './words.js';

const CAPITALISED = /^(?:[dl]['’])?\p{Lu}/u;
/** A number directly after a capitalised word is part of the name: `Apollo 11`. */
const NUMBER = /^\p{N}+(?:st|nd|rd|th)?$/iu;
/** Words that join capitalised parts of one name: `House of Hanover`. */
const JOINING = new Set('of the in for on de da di du von van &'.split(' '));
/** Words that are usually capitalised only because they open a sentence. */
const OPENING = new Set(
  (
    'a about after although an and are as at be before both by can could did do does during for from had has have how ' +
    'if in into is it name of on or please should since than that the these this those to under was were what when ' +
    'where which while who whom whose why will with would'
  ).split(' '),
);
/** Endings of adjectives such as `American`, no names before a common noun. */
const ADJECTIVE = /(?:[ei]an|can|ese|ish)$/;

const QUOTED = /["“]([^"“”]+)["”]/g;
/** A qualifier in a title: `(1935 film)`. */
const QUALIFIER = /\s*\([^()]*\)/g;
const ABBREVIATION = /^(?:(?:\p{L}\.)+|(?:St|Mr|Mrs|Ms|Dr|Jr|Sr)\.)$/u;
const POSSESSIVE = /['’]s?$/;

interface Word {
  text: string;
  /** Whether punctuation after the word ends a name. */
  ends: boolean;
  endsSentence: boolean;
}

function readWord(raw: string): Word {
  const text = raw.replace(/^[^\p{L}\p{N}&]+/u, '').replace(/[^\p{L}\p{N}.&'’]+$/u, '');
  if (ABBREVIATION.test(text)) return { text, ends: text !== raw, endsSentence: false };
  return {
    text: text.replace(/\.+$/, ''),
    ends: /[^\p{L}\p{N}&'’]$/u.test(raw),
    endsSentence: /[.?!]$/.test(raw),
  };
}

/**
 * Finds the distinct names in a text, in order: quoted spans, and runs of capitalised
 * words including the small words between them. A word that opens a sentence belongs to a
 * name only if the next word is capitalised, too. Adjectives of nationality before a
 * common noun and qualifiers in parentheses are left out. A heuristic for English that
 * finds nothing in text without capital letters.
 */
export function findNames(text: string): string[] {
  const quoted = Array.from(text.matchAll(QUOTED), ([, inside]) => inside.trim());
  const parts = text.split(QUOTED).filter((_, i) => i % 2 === 0);
  const runs = parts.flatMap((part) => capitalisedRuns(part.replace(QUALIFIER, ',')));
  const places = new Map([...quoted, ...runs].map((name) => [name, text.indexOf(name)]));
  return [...places].sort(([, a], [, b]) => a - b).map(([name]) => name);
}

function capitalisedRuns(text: string): string[] {
  const words = text.split(/\s+/).filter(Boolean).map(readWord);
  const names: string[] = [];
  for (let start = 0; start < words.length; start++) {
    const isFirst = start === 0 || words[start - 1].endsSentence;
    if (!CAPITALISED.test(words[start].text)) continue;
    if (isFirst && OPENING.has(words[start].text.toLowerCase())) continue;
    const end = runEnd(words, start);
    const run = words.slice(start, end + 1).map((word) => word.text);
    const isAdjective = run.every((word) => ADJECTIVE.test(word)) && !words[end].ends;
    if (!isAdjective && !(isFirst && run.length === 1))
      names.push(run.join(' ').replace(POSSESSIVE, ''));
    start = end;
  }
  return names;
}

/** The index of the last word of the name that starts at `start`. */
function runEnd(words: readonly Word[], start: number): number {
  let end = start;
  while (!words[end].ends) {
    let next = end + 1;
    while (next <= end + 2 && JOINING.has(words[next]?.text) && !words[next].ends) next++;
    const text = words[next]?.text ?? '';
    if (!CAPITALISED.test(text) && !(next === end + 1 && NUMBER.test(text))) return end;
    end = next;
  }
  return end;
}

/**
 * Matches runs of capitalised words, except at the start of a sentence. Unlike
 * `findNames`, never joins two names (`Paris in France`): no passage might have both.
 */
const SEPARATE_NAMES = /(?<=\S\s+)\p{Lu}[\p{L}\d]+(?: \p{Lu}[\p{L}\d]+)*/gu;

/**
 * Returns a warning about the names in a question that no passage contains, or that none
 * contains any of its words, or ''.
 */
export function unknownNamesWarning(question: string, passages: readonly string[]): string {
  const occurs = (name: string): boolean =>
    passages.some((passage) => foldText(passage).includes(foldText(name)));
  const names = [...new Set(question.match(SEPARATE_NAMES))].filter((name) => !occurs(name));
  if (names.length === 0) {
    // Many scripts have no capitals.
    const words = splitWords(question);
    const hasWord = (passage: string): boolean => {
      const folded = foldText(passage);
      return words.some((word) => folded.includes(word));
    };
    return passages.some(hasWord)
      ? ''
      : 'No passage has a word of the question: the answer will be a guess.';
  }
  return `No passage mentions ${formatList(names.map((name) => `“${name}”`))}: the answer will be a guess.`;
}
