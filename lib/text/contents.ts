/**
 * The title and text of a passage's contents: the title is the first line, without the
 * quotes of FlashRAG's Wikipedia dump. A single line is text without a title.
 */
export function splitContents(contents: string): { title: string; text: string } {
  const end = contents.indexOf('\n');
  if (end < 0) return { title: '', text: contents };
  const firstLine = contents.slice(0, end).trim();
  const quoted = /^"(.*)"$/.exec(firstLine);
  return { title: quoted ? quoted[1] : firstLine, text: contents.slice(end + 1).trim() };
}
