type Cells = readonly (string | number)[];

const line = (cells: Cells): string => `| ${cells.join(' | ')} |\n`;

/** Formats a table for a model or data card. */
export const markdownTable = (head: readonly string[], rows: readonly Cells[]): string =>
  [head, head.map(() => '---'), ...rows].map(line).join('');
