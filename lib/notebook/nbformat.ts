/** Notebook files, nbformat 4.5: what the runner and the report read and write. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

/** Long texts may be one string or a list of lines; {@link textOf} joins them. */
const multilineSchema = z.union([z.string(), z.array(z.string())]);
const mimeBundleSchema = z.record(z.string(), z.unknown());

const outputSchema = z.discriminatedUnion('output_type', [
  z.looseObject({
    output_type: z.literal('stream'),
    name: z.enum(['stdout', 'stderr']),
    text: multilineSchema,
  }),
  z.looseObject({
    output_type: z.literal('display_data'),
    data: mimeBundleSchema,
    metadata: mimeBundleSchema,
  }),
  z.looseObject({
    output_type: z.literal('execute_result'),
    data: mimeBundleSchema,
    metadata: mimeBundleSchema,
    execution_count: z.number().int().nullable(),
  }),
  z.looseObject({
    output_type: z.literal('error'),
    ename: z.string(),
    evalue: z.string(),
    traceback: z.array(z.string()),
  }),
]);
export type CellOutput = z.infer<typeof outputSchema>;

const cellMetadataSchema = z.looseObject({ tags: z.array(z.string()).optional() });
const idSchema = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const textCellFields = { id: idSchema.optional(), metadata: cellMetadataSchema, source: multilineSchema };

const cellSchema = z.discriminatedUnion('cell_type', [
  z.looseObject({
    cell_type: z.literal('code'),
    ...textCellFields,
    execution_count: z.number().int().nullable(),
    outputs: z.array(outputSchema),
  }),
  z.looseObject({ cell_type: z.literal('markdown'), ...textCellFields }),
  z.looseObject({ cell_type: z.literal('raw'), ...textCellFields }),
]);
export type Cell = z.infer<typeof cellSchema>;
export type CodeCell = Extract<Cell, { cell_type: 'code' }>;

const notebookSchema = z.looseObject({
  nbformat: z.literal(4),
  nbformat_minor: z.number().int().nonnegative(),
  metadata: z.record(z.string(), z.unknown()),
  cells: z.array(cellSchema),
});
export type Notebook = z.infer<typeof notebookSchema>;

/** A multi-line field as one string. */
export function textOf(text: string | string[]): string {
  return Array.isArray(text) ? text.join('') : text;
}

/** A text as the list of lines that Jupyter writes, so that files compare line by line. */
export function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/).filter((line) => line !== '');
}

/** Reads and checks a notebook; every cell has an id afterwards (4.5 wants one, older files have none). */
export function readNotebook(file: string): Notebook {
  const parsed = notebookSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (!parsed.success)
    throw new Error(`${file} is not a notebook of nbformat 4: ${z.prettifyError(parsed.error)}`);
  const notebook = parsed.data;
  notebook.cells.forEach((cell, i) => (cell.id ??= `cell-${i + 1}`));
  const ids = new Set(notebook.cells.map((cell) => cell.id));
  if (ids.size !== notebook.cells.length) throw new Error(`Expected the cell ids of ${file} to be unique.`);
  return { ...notebook, nbformat_minor: Math.max(5, notebook.nbformat_minor) };
}

/** Writes a notebook aside and renames it, so that a reader never finds half a file. */
export function writeNotebook(file: string, notebook: Notebook): void {
  writeAtomically(file, JSON.stringify(notebookSchema.parse(notebook), null, 1) + '\n');
}

/** Writes `text` beside `file` and renames it into place. */
export function writeAtomically(file: string, text: string): void {
  const aside = `${file}.${process.pid}.tmp`;
  try {
    writeFileSync(aside, text);
    renameSync(aside, file);
  } finally {
    rmSync(aside, { force: true });
  }
}
