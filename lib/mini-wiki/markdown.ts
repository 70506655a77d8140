/** What the cards of data, models and encoder share: tables, and parts of a page that are generated. */

/** A table in Markdown. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/**
 * The page with what stands between two marks replaced.
 * @throws Error when the marks are not there
 */
export function replaceGenerated(
  page: string,
  [begin, end]: readonly [string, string],
  text: string,
): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error(`Expected the page to hold the marks ${begin} and ${end}; put them back.`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}
