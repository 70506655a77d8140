/** Reads, validates and writes notebook files in nbformat 4.5. */
import { z } from 'zod';
import { readTextSync, writeFileSafely } from '../io/files.js';
import { describeFaults, jsonText, parseExactJson, printExactJson } from '../io/json.js';

/** A string or a list of lines; {@link joinLines} joins them. */
const multilineSchema = z.union([z.string(), z.array(z.string())]);
const metadataSchema = z.record(z.string(), z.unknown());
const executionCountSchema = z.number().int().nonnegative().nullable();

/** Representations of an output by MIME type; a front end takes the richest it knows. */
export type MimeBundle = Record<string, unknown>;

/** The MIME types of what the library displays. */
export const MIME = {
  /** JupyterLab 4 draws version 5, as an object. */
  vegaLite: 'application/vnd.vegalite.v5+json',
  svg: 'image/svg+xml',
  html: 'text/html',
  text: 'text/plain',
  /** The cells of a table, for reports. */
  table: 'application/vnd.parallelsearch.table+json',
  /** Finding, predictions and provenance: the beginning and end of a report. */
  about: 'application/vnd.parallelsearch.about+json',
} as const;

/** The MIME type under which a bundle has Vega-Lite of any version. */
export const findVegaLite = (data: MimeBundle): string | undefined =>
  Object.keys(data).find((mime) => /^application\/vnd\.vegalite\.v\d+(\.\d+)*\+json$/.test(mime));

/** Values under these MIME types are JSON; all others are text. */
export const isJsonMime = (mime: string): boolean => /^application\/(.*\+)?json$/.test(mime);

const mimeBundleSchema = z
  .record(z.string(), z.unknown())
  .refine(
    (bundle) =>
      Object.entries(bundle).every(
        ([mime, v]) => isJsonMime(mime) || multilineSchema.safeParse(v).success,
      ),
    'Expected texts under MIME types other than JSON.',
  );

const streamSchema = z.strictObject({
  output_type: z.literal('stream'),
  name: z.string(),
  text: multilineSchema,
});
const displaySchema = z.strictObject({
  output_type: z.literal('display_data'),
  data: mimeBundleSchema,
  metadata: metadataSchema,
});
const resultSchema = displaySchema.extend({
  output_type: z.literal('execute_result'),
  execution_count: executionCountSchema,
});
const errorSchema = z.strictObject({
  output_type: z.literal('error'),
  ename: z.string(),
  evalue: z.string(),
  traceback: z.array(z.string()),
});
const outputSchema = z.discriminatedUnion('output_type', [
  streamSchema,
  displaySchema,
  resultSchema,
  errorSchema,
]);
export type CellOutput = z.infer<typeof outputSchema>;

const isUnique = (values: readonly unknown[]): boolean => new Set(values).size === values.length;
const tagsSchema = z
  .array(z.string().regex(/^[^,]+$/))
  .refine(isUnique, 'Expected tags to differ.');
const idSchema = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const cellFields = {
  id: idSchema.optional(),
  metadata: z.looseObject({ tags: tagsSchema.optional() }),
  source: multilineSchema,
};
const codeCellSchema = z.strictObject({
  cell_type: z.literal('code'),
  ...cellFields,
  execution_count: executionCountSchema,
  outputs: z.array(outputSchema),
});
const textCellSchema = z.strictObject({
  cell_type: z.enum(['markdown', 'raw']),
  ...cellFields,
  attachments: z.record(z.string(), mimeBundleSchema).optional(),
});
const cellSchema = z.discriminatedUnion('cell_type', [codeCellSchema, textCellSchema]);
export type Cell = z.infer<typeof cellSchema>;
export type CodeCell = z.infer<typeof codeCellSchema>;

const kernelspecSchema = z.looseObject({ name: z.string(), display_name: z.string() });

/**
 * The official JSON schema of 4.5, except that older files lack cell ids and unused
 * metadata is not validated.
 */
const notebookSchema = z.strictObject({
  nbformat: z.literal(4),
  nbformat_minor: z.number().int().nonnegative(),
  metadata: z.looseObject({ kernelspec: kernelspecSchema.optional() }),
  cells: z.array(cellSchema),
});
export type Notebook = z.infer<typeof notebookSchema>;

/** Files are written in 4.5 or later, with cell ids. */
const writtenSchema = notebookSchema
  .refine(({ nbformat_minor }) => nbformat_minor >= 5, 'Expected nbformat_minor to be at least 5.')
  .refine(
    ({ cells }) => cells.every(({ id }) => id !== undefined),
    'Expected every cell to have an id.',
  )
  .refine(({ cells }) => isUnique(cells.map(({ id }) => id)), 'Expected cell ids to differ.');

/** Joins a multi-line field to one string. */
export const joinLines = (text: string | string[]): string =>
  Array.isArray(text) ? text.join('') : text;

/** Splits a text into lines, as Jupyter writes it. */
export const splitLines = (text: string): string[] =>
  text.split(/(?<=\n)/).filter((line) => line !== '');

/** Checked first: other versions have other fields, and those faults would mislead. */
const versionSchema = z.looseObject({
  nbformat: z.literal(4, {
    error: ({ input }) =>
      typeof input === 'number'
        ? `Expected nbformat 4, but got ${input}. Convert it: jupyter nbconvert --to notebook --nbformat 4 FILE`
        : 'Expected nbformat 4, but got none.',
  }),
});

/** Reads and validates a notebook; adds cell ids if it is older than 4.5. */
export function readNotebook(file: string): Notebook {
  const complaint = `${file} is not a notebook of nbformat 4`;
  const notebook = parse(
    jsonText(parseExactJson).pipe(versionSchema).pipe(notebookSchema),
    readTextSync(file),
    complaint,
  );
  const ids = new Set(notebook.cells.map(({ id }) => id));
  for (const [i, cell] of notebook.cells.entries()) {
    if (cell.id !== undefined) continue;
    for (let number = i + 1; ; number++) {
      cell.id = `cell-${number}`;
      if (!ids.has(cell.id)) break;
    }
    ids.add(cell.id);
  }
  notebook.nbformat_minor = Math.max(5, notebook.nbformat_minor);
  return parse(writtenSchema, notebook, complaint);
}

function parse<T>(schema: z.ZodType<T>, value: unknown, complaint: string): T {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new Error(`${complaint}: ${describeFaults(parsed.error)}`);
  return parsed.data;
}

/** Writes a notebook. @throws Error for fields that nbformat 4.5 does not allow */
export async function writeNotebook(file: string, notebook: Notebook): Promise<void> {
  const valid = parse(writtenSchema, notebook, `Expected ${file} to follow nbformat 4.5`);
  await writeFileSafely(file, `${printExactJson(valid, 1)}\n`);
}

/** The code cells of a notebook, by reference. */
export function codeCells(notebook: Notebook): CodeCell[] {
  return notebook.cells.filter((cell): cell is CodeCell => cell.cell_type === 'code');
}

/** The language of the code, if stated; Colab and VS Code omit the kernel's. */
export function codeLanguage({ metadata }: Notebook): string | undefined {
  const { kernelspec, language_info: info } = metadata;
  const language = kernelspec?.language ?? (info as { name?: unknown } | undefined)?.name;
  return typeof language === 'string' ? language : undefined;
}

/** tslab's kernels, and the languages they run. */
const KERNELS = ['tslab', 'jslab'];
const LANGUAGES = ['typescript', 'javascript'];

/** Whether tslab can run the code. */
export function isTypeScript(notebook: Notebook): boolean {
  const language = codeLanguage(notebook);
  const { kernelspec } = notebook.metadata;
  return language === undefined
    ? !kernelspec || KERNELS.includes(kernelspec.name)
    : LANGUAGES.includes(language.toLowerCase());
}

export const hasTag = ({ metadata }: Cell, tag: string): boolean =>
  metadata.tags?.includes(tag) ?? false;
