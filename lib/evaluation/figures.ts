/** Queries of rows by the values of their fields. */
import { mean } from 'd3-array';
import type { Interval } from './estimate.js';

export type Fields = Readonly<Record<string, unknown>>;

/** Tests an item for these field values; a list means any of them. */
export const where = (fields: Fields): ((item: object) => boolean) => {
  const entries = Object.entries(fields);
  return (item) =>
    entries.every(([name, wanted]) => {
      const value = (item as Fields)[name];
      return Array.isArray(wanted) ? wanted.includes(value) : value === wanted;
    });
};

/** The items with these field values; a list means any of them. */
export const matching = <T extends object>(items: readonly T[], fields: Fields): T[] =>
  items.filter(where(fields));

/** Rows and contrasts, of a table or of a whole result. */
export interface Figures {
  /** One row per figure; one contrast per comparison of two. */
  rows: readonly object[];
  contrasts: readonly object[];
}

/** The rows with these fields, or the contrasts if the fields include `kind`. */
export const findFigures = ({ rows, contrasts }: Figures, figure: Fields): Interval[] =>
  matching('kind' in figure ? contrasts : rows, figure) as Interval[];

/** The first of {@link findFigures}. */
export const findFigure = (figures: Figures, figure: Fields): Interval | undefined =>
  findFigures(figures, figure).at(0);

/** The value of {@link findFigure}; NaN if there is none. */
export const findValue = (figures: Figures, figure: Fields): number =>
  findFigure(figures, figure)?.value ?? NaN;

/** The mean value of the rows with these fields; NaN without rows. */
export const meanValue = (rows: readonly { value: number }[], fields: Fields): number =>
  mean(matching(rows, fields), ({ value }) => value) ?? NaN;
