/** Proper names in English text, found by capital letters and quotes. */

const CAPITALISED = /^(?:[dl]['’])?\p{Lu}/u;
/** Part of a name directly after a capitalised word, as in `Apollo 11`. */
const NUMBER = /^\p{N}+$/u;
/** Words that join two capitalised parts of one name: `House of Hanover`. */
const JOINING = new Set(['of', 'the', 'in', 'for', 'on', 'de', 'da', 'di', 'du', 'von', 'van', '&']);
/** Capitalised only because they open a sentence. */
const OPENING = new Set(
  (
    'a about after although an and are as at be before both by can could did do does during for from had has have how ' +
    'if in into is it name of on or please should since than that the these this those to under was were what when ' +
    'where which while who whom whose why will with would'
  ).split(' '),
);
/** Adjectives such as `American` and `Chinese`, if a common noun follows. */
const ADJECTIVE = /(?:[ei]an|can|ese|ish)$/;

const QUOTED = /["“]([^"“”]+)["”]/g;

interface Word {
  text: string;
  /** Whether punctuation after it ends a name. */
  ends: boolean;
}

const readWord = (raw: string): Word => {
  const text = raw.replace(/^[^\p{L}\p{N}&.]+/u, '').replace(/['’]s?$|[^\p{L}\p{N}.&+]+$/gu, '');
  const isAbbreviation = /^(?:\p{L}\.)+$|^(?:St|Mr|Mrs|Ms|Dr|Jr|Sr)\.$/u.test(text);
  return {
    text: isAbbreviation ? text : text.replace(/\.+$/, '').replace(/['’]s?$/, ''),
    ends: /[,;:?!)]$/.test(raw) || (/\.$/.test(raw) && !isAbbreviation),
  };
};

/**
 * The names in a text, each once, in order: quoted spans, and runs of capitalised words
 * with the small words between them. A word that opens a sentence belongs to a name only
 * if the next word is capitalised too; adjectives of nationality before a common noun are
 * no names. A heuristic for English: it finds nothing in text without capital letters,
 * and misses names that are written in lower case.
 */
export function findNames(text: string): string[] {
  const quoted = Array.from(text.matchAll(QUOTED), ([, inside]) => inside.trim());
  const names = [...quoted, ...text.split(QUOTED).flatMap((part, i) => (i % 2 ? [] : runs(part)))];
  const places = new Map(names.map((name) => [name, text.indexOf(name)]));
  return [...places].sort(([, a], [, b]) => a - b).map(([name]) => name);
}

function runs(text: string): string[] {
  const words = text.split(/\s+/).filter(Boolean).map(readWord);
  const names: string[] = [];
  let opensSentence = true;
  for (let i = 0; i < words.length; i++) {
    const start = i;
    const isOpening = opensSentence;
    opensSentence = /[.?!]/.test(words[i].text.slice(-1)) || words[i].ends;
    if (!CAPITALISED.test(words[i].text)) continue;
    if (isOpening && OPENING.has(words[i].text.toLowerCase())) continue;
    let end = i;
    while (!words[end].ends) {
      let next = end + 1;
      while (JOINING.has(words[next]?.text) && next - end <= 2) next++;
      const isNumber = next === end + 1 && NUMBER.test(words[next]?.text ?? '');
      if (!isNumber && !CAPITALISED.test(words[next]?.text ?? '')) break;
      end = next;
    }
    i = end;
    opensSentence = words[end].ends;
    const parts = words.slice(start, end + 1).map((word) => word.text);
    const isAdjective =
      parts.every((part) => ADJECTIVE.test(part)) && !words[end].ends && end + 1 < words.length;
    if (isAdjective || (isOpening && parts.length === 1)) continue;
    names.push(parts.join(' '));
  }
  return names;
}
