/** Names of entities: which are plain enough to be asked about, and how two of them are compared. */

// prettier-ignore
const LATIN_LETTERS: Record<string, string> = {
  ß: 'ss', ø: 'o', Ø: 'O', ł: 'l', Ł: 'L', đ: 'd', Đ: 'D', ı: 'i', æ: 'ae',
};

/** Lower case, letters and digits only, one space between words. */
export function normaliseName(text: string): string {
  return text
    .toLowerCase()
    .replace(/['’]/g, '')
    .replace(/[^a-z0-9]+/g, ' ')
    .trim();
}

/** Replaces accented Latin letters by plain ones; returns null for a name that still is not plain ASCII. */
export function transliterate(text: string): string | null {
  const plain = text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[^ -~]/g, (letter) => LATIN_LETTERS[letter] ?? letter)
    .replace(/\s+/g, ' ')
    .trim();
  return /^[ -~]+$/.test(plain) ? plain : null;
}

/** A name that a sub-question can carry: 1 to `maxWords` words of letters, digits, apostrophes, hyphens and full stops. */
export function plainName(text: string, maxWords = 4): string | null {
  const name = transliterate(text);
  if (!name || !/^[A-Za-z0-9][A-Za-z0-9 '.:!-]*$/.test(name) || !/[A-Za-z]{3}/.test(name)) return null;
  return name.split(' ').length <= maxWords ? name : null;
}

/** True when a list such as "A, B and C" can hold the name without confusion. */
export function listable(name: string): boolean {
  return !/\b(and|or)\b|[,&]/i.test(name);
}

/** "A", "A and B", "A, B and C". */
export function listed(items: readonly string[], conjunction = 'and'): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} ${conjunction} ${items[items.length - 1]}`;
}

/** All runs of 1 to `maxWords` words of a normalised text. */
export function phrasesOf(text: string, maxWords = 6): Set<string> {
  const words = normaliseName(text).split(' ');
  const phrases = new Set<string>();
  for (let start = 0; start < words.length; start++) {
    for (let end = start + 1; end <= Math.min(words.length, start + maxWords); end++) {
      phrases.add(words.slice(start, end).join(' '));
    }
  }
  return phrases;
}
