/** The tables of means and of behaviour that `score` and `evaluate` print. */
import { group, max, mean } from 'd3-array';
import { BEHAVIOUR_LABELS, behaviourShares } from '../../evaluation/behaviour.js';
import type { Measurement } from '../../evaluation/measurement.js';
import { decimalText, formatList } from '../../text/english.js';

export interface Column<T> {
  title: string;
  /** NaN counts as missing. */
  value: (item: T) => number;
}

type ScoredAnswer = Pick<
  Measurement,
  'em' | 'f1' | 'formatOk' | 'turns' | 'modelCalls' | 'decomposed'
>;

export const ANSWER_COLUMNS: readonly Column<ScoredAnswer>[] = [
  { title: 'EM', value: ({ em }) => em },
  { title: 'F1', value: ({ f1 }) => f1 },
  { title: 'format', value: ({ formatOk }) => Number(formatOk) },
  { title: 'turns', value: ({ turns }) => turns },
  { title: 'calls', value: ({ modelCalls }) => modelCalls },
  { title: 'decomposed', value: ({ decomposed }) => Number(decomposed) },
];

/** Formats a number with three decimals; a dash if it is missing. */
export const fixed = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? '–' : decimalText(value);

/**
 * Rows of means: one for each value of each key, if it has several, then one for all
 * items with the label `all`. The second cell is the number of items.
 */
export function meanRows<T>(
  items: readonly T[],
  columns: readonly Column<T>[],
  { keys, all }: { keys: readonly ((item: T) => string)[]; all: string },
): string[][] {
  const groups = keys.flatMap((key) => {
    const byKey = [...group(items, key)].sort(([a], [b]) => (a < b ? -1 : 1));
    return byKey.length > 1 ? byKey : [];
  });
  return [...groups, [all, items] as const].map(([label, members]) => [
    label,
    `n = ${members.length}`,
    ...columns.map(({ value }) => fixed(mean(members, value))),
  ]);
}

/** Aligns rows below a head, with rules between parts; the first two columns are text. */
export function formatTable(head: readonly string[], ...parts: readonly string[][][]): string {
  const rows = [head, ...parts.flat()];
  const widths = head.map((_, column) => max(rows, (row) => row[column].length)!);
  const print = (row: readonly string[]): string =>
    row.map((cell, i) => (i < 2 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ');
  const rule = '-'.repeat(print(head).length);
  return [print(head), ...parts.flatMap((part) => [rule, ...part.map(print)])].join('\n');
}

/**
 * The share of each behaviour label with its 95 % interval, by question type if there are
 * several. Labels that are not known for any answer are listed below.
 */
export function behaviourTable(
  answers: readonly ({ type: string } & Pick<Measurement, 'behaviour'>)[],
): string {
  const labelled = answers.flatMap(({ type, behaviour }) =>
    behaviour ? [{ type, behaviour }] : [],
  );
  const listShares = (items: typeof labelled) =>
    new Map(
      behaviourShares(items.map(({ behaviour }) => behaviour)).map((one) => [one.label, one]),
    );
  const all = listShares(labelled);
  const types = [...group(labelled, ({ type }) => type)].sort(([a], [b]) => (a < b ? -1 : 1));
  const columns = types.length > 1 ? types : [];
  const byType = columns.map(([, items]) => listShares(items));
  const rows = [...all.values()].map(({ label, count, n, value, low, high }) => [
    label,
    `${count} of ${n}`,
    fixed(value),
    `[${fixed(low)}, ${fixed(high)}]`,
    ...byType.map((shares) => fixed(shares.get(label)?.value)),
  ]);
  const head = ['behaviour', '', 'share', '95 %', ...columns.map(([type]) => type)];
  const unknown = BEHAVIOUR_LABELS.filter((label) => !all.has(label));
  const note = unknown.length > 0 ? `\nNot known for these answers: ${formatList(unknown)}.` : '';
  return `${formatTable(head, rows)}${note}`;
}
