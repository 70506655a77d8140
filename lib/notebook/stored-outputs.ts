/**
 * Outputs that notebooks in the repository carry, so that GitHub and JupyterLab show them
 * unexecuted. They are small, and only updated when cells or the result have changed.
 */
import { sort } from 'd3-array';
import { configHash } from '../io/provenance.js';
import {
  codeCells,
  findVegaLite,
  joinLines,
  MIME,
  readNotebook,
  writeNotebook,
} from './nbformat.js';
import type { CellOutput, CodeCell, Notebook } from './nbformat.js';

/** Maximum size of a notebook with outputs, in bytes. */
export const MAX_STORED_BYTES = 300_000;

/** For reports only. */
const PRIVATE: readonly string[] = [MIME.table, MIME.about];

/** Identifies the inputs of stored outputs, in the notebook's metadata. */
interface OutputsState {
  cells: string;
  /** The result that the notebook shows; absent if it shows none. */
  result?: string;
}

/** Without what only goes into CSV files: the exact cells of tables. */
const shownPart = (result: object): object =>
  JSON.parse(
    JSON.stringify(result, (key, value: unknown) => (key === 'exact' ? undefined : value)),
  ) as object;

const describeState = (notebook: Notebook, result?: object): OutputsState => ({
  cells: configHash({
    code: codeCells(notebook).map(({ source, metadata }) => [joinLines(source), metadata.tags]),
  }),
  ...(result && { result: configHash(shownPart(result)) }),
});

const metadata = ({ metadata: { parallelsearch = {} } }: Notebook) =>
  parallelsearch as { outputs?: OutputsState };

/**
 * Explains why a notebook's outputs are out of date; null if they are current or it has
 * none.
 * @param result omitted if it is not known
 */
export function findStaleOutputs(notebook: Notebook, result?: object): string | null {
  const { outputs: stored } = metadata(notebook);
  const hasOutputs = codeCells(notebook).some(({ outputs }) => outputs.length > 0);
  if (!stored) return hasOutputs ? 'nothing says what its outputs were made of' : null;
  const now = describeState(notebook, result);
  if (stored.cells !== now.cells) return 'its cells have changed';
  return result && stored.result !== now.result ? 'its result has changed' : null;
}

/**
 * Stores the outputs of an executed notebook in its file, compacted; everything else in
 * the file is kept. Leaves the file unchanged if its outputs are current, or if its cells
 * are no longer the executed ones.
 * @param result the result that the notebook shows, without when and where it was made
 * @returns whether the file was written
 */
export async function storeOutputs(
  file: string,
  executed: Notebook,
  result?: object,
): Promise<boolean> {
  const notebook = readNotebook(file);
  const state = describeState(executed, result);
  if (describeState(notebook).cells !== state.cells) return false; // edited in the meantime
  const isCurrent = metadata(notebook).outputs && findStaleOutputs(notebook, result) === null;
  if (isCurrent) return false;
  const stored = compactCells(codeCells(executed));
  for (const [i, cell] of codeCells(notebook).entries()) Object.assign(cell, stored[i]);
  notebook.metadata.parallelsearch = { ...metadata(notebook), outputs: state };
  shrink(notebook);
  await writeNotebook(file, notebook);
  return true;
}

const compactCells = (cells: readonly CodeCell[]) =>
  cells.map(({ outputs, execution_count }) => ({
    execution_count,
    outputs: outputs.map(compactOutput),
  }));

/** Drops what only this project's pages read, and text for which there is HTML. */
function compactOutput(output: CellOutput): CellOutput {
  if (!('data' in output)) return output;
  const parts = Object.entries(output.data).filter(
    ([mime]) => !PRIVATE.includes(mime) && !(mime === MIME.text && MIME.html in output.data),
  );
  const data = Object.fromEntries(
    parts.map(([mime, content]) => {
      if (mime === MIME.svg) return [mime, compactSvg(joinLines(content as string[]))];
      // Notebook front ends have no style for it.
      const isTable = mime === MIME.html && joinLines(content as string[]).startsWith('<table>');
      if (isTable) return [mime, joinLines(content as string[]).replaceAll(' class="figure"', '')];
      return [mime, content];
    }),
  );
  return { ...output, data };
}

const countBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value, null, 1));

/** Drops the largest specifications of charts that also have a picture. */
function shrink(notebook: Notebook): void {
  const specs = codeCells(notebook)
    .flatMap(({ outputs }) => outputs)
    .flatMap((output) => ('data' in output && MIME.svg in output.data ? [output.data] : []))
    .flatMap((data) => {
      const mime = findVegaLite(data);
      return mime === undefined ? [] : { data, mime };
    });
  for (const { data, mime } of sort(specs, ({ data, mime }) => -countBytes(data[mime]))) {
    if (countBytes(notebook) <= MAX_STORED_BYTES) return;
    delete data[mime];
  }
}

/** Attributes for accessibility, and attributes without effect in a picture. */
const IDLE =
  / (?:aria-[a-z]+|role|class|pointer-events|stroke-miterlimit|xmlns:xlink)="[^"]*"| (?:stroke-width="1"|opacity="1"|fill="transparent"|font-weight="normal"|text-anchor="start"|[xy]2="0")/g;
/** Attributes that elements inherit from their group. */
const INHERITED = / (?:fill|stroke|stroke-[a-z]+|font-[a-z]+|text-anchor)="[^"]*"/g;
/** Consecutive elements of the same kind. */
const ROWS = /(?:<line [^>]*\/>){3,}|(?:<path [^>]*\/>){3,}|(?:<text [^>]*>[^<]*<\/text>){3,}/g;
/** Rectangles behind and in front of a group's marks. */
const GROUNDS = /<path class="(?:background|foreground)"[^>]*\/>/g;
const FONT = ' font-family="system-ui, sans-serif"';

/**
 * Compacts a drawing of Vega to about a third of its bytes without changing its looks:
 * drops descriptions of marks and groups without effect, and rounds coordinates to 0.1
 * px.
 */
export function compactSvg(svg: string): string {
  const bare = svg
    .replace(GROUNDS, (path) => (/ (fill|stroke)="(?!none|transparent)/.test(path) ? path : ''))
    .replace(IDLE, '')
    .replace(/ transform="translate\(0,0\)"/g, '')
    .replace(/<[^>]+>/g, (tag) =>
      tag.replace(/-?\d+\.\d{2,}/g, (number) => String(Number(Number(number).toFixed(1)))),
    )
    .replaceAll(FONT, '')
    .replace('<svg', `<svg${FONT}`);
  // For each open group, whether it is kept: a group without attributes is dropped.
  const groupsKept: boolean[] = [];
  const flat = bare.replace(/<g( [^>]*)?>|<\/g>/g, (tag, attributes?: string) => {
    if (tag !== '</g>') groupsKept.push(attributes !== undefined);
    return (tag === '</g>' ? groupsKept.pop() : groupsKept.at(-1)) ? tag : '';
  });
  return flat
    .replace(/<g( [^>]*)?><\/g>/g, '')
    .replace(ROWS, groupRow)
    .replace(/<[^>]+>/g, (tag) => tag.replace(/="([^"']*)"/g, "='$1'")); // JSON escapes double quotes
}

/** Moves the attributes that all elements of a row share to a group around them. */
function groupRow(row: string): string {
  const tags = row.match(/<(?:line|path|text) [^>]*>/g)!;
  const [first, ...others] = tags.map((tag): string[] => tag.match(INHERITED) ?? []);
  const shared = first.filter((attribute) => others.every((list) => list.includes(attribute)));
  if (shared.length === 0) return row;
  const isShared = new Set(shared);
  const bare = row.replace(INHERITED, (attribute) => (isShared.has(attribute) ? '' : attribute));
  return `<g${shared.join('')}>${bare}</g>`;
}
