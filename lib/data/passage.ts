/** A passage, and its text with and without the title. */
export interface Passage {
  id: string;
  contents: string;
  title: string;
  text: string;
}

/** Makes passages from texts by title, with the ids `own-1`, `own-2` and so on. */
export function createPassages(texts: Readonly<Record<string, string>>): Passage[] {
  return Object.entries(texts).map(([title, text], i) => ({
    id: `own-${i + 1}`,
    contents: joinContents(title, text),
    title,
    text,
  }));
}

/**
 * Splits a passage's contents into title, the first line without the quotes of FlashRAG's
 * Wikipedia dump, and text. A single line, even with a line break after it, is text
 * without a title.
 */
export function splitContents(contents: string): { title: string; text: string } {
  const end = contents.indexOf('\n');
  const text = end < 0 ? '' : contents.slice(end + 1).trim();
  if (text === '') return { title: '', text: end < 0 ? contents : contents.trim() };
  return { title: unquote(contents.slice(0, end)), text };
}

/** A title without the quotes of FlashRAG's Wikipedia dump. */
const unquote = (title: string): string => title.trim().replace(/^"(.*)"$/s, '$1');

/**
 * The contents that {@link splitContents} splits; a title in quotes gets FlashRAG's, too,
 * and one of several lines becomes one.
 */
export function joinContents(title: string, text: string): string {
  const line = title.trim().replace(/\s*[\r\n]\s*/g, ' ');
  return `${/^".*"$/.test(line) ? `"${line}"` : line}\n${text}`;
}

/** Adds a row's `title` to its contents if they lack it. */
export function withTitle(contents: string, title: string | null | undefined): string {
  const bare = unquote(title ?? '');
  const isMissing = bare !== '' && splitContents(contents).title !== bare;
  return isMissing ? joinContents(bare, contents) : contents;
}
