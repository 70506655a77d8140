/**
 * Remembers what a notebook's cells have shown, under a hash of all that this can
 * depend on: code (parameters are code by then), this library's build, tslab, Node, the
 * working folder, and the files that the notebook declares as inputs.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { optionalVersion } from '../io/optional.js';
import { packagePath } from '../io/paths.js';
import { provenanceHere, configHash } from '../io/provenance.js';
import { recordStore } from '../io/records.js';
import { codeCells, textOf, type CodeCell, type Notebook } from './nbformat.js';

/** How long a run took, and each of its code cells. */
export interface Timing {
  elapsedMs: number;
  cellMs: number[];
}

/**
 * The hash of a file, or of every file below a folder with its name; `absent` where there
 * is nothing.
 */
export async function hashPath(target: string): Promise<string> {
  if (!existsSync(target)) return 'absent';
  const hash = createHash('sha256');
  for (const file of filesOf(target)) {
    hash.update(`${path.relative(target, file).split(path.sep).join('/')}\0`);
    for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
    hash.update('\0');
  }
  return hash.digest('hex');
}

function filesOf(target: string): string[] {
  if (statSync(target).isFile()) return [target];
  const files = readdirSync(target, { recursive: true, encoding: 'utf8' }).map((name) =>
    path.join(target, name),
  );
  return files.filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile()).sort();
}

const metadataSchema = z.looseObject({ inputs: z.array(z.string()).optional() }).optional();

/**
 * The inputs that a notebook declares in its metadata, `"parallelsearch": { "inputs":
 * ["../data", "{folder}"] }`: files and folders relative to the working folder;
 * `{folder}` stands for the value of that text parameter. Null when it declares none:
 * nobody knows then what its outputs depend on (an empty list says that there is
 * nothing).
 * @throws Error naming a parameter that is not there, or what is wrong in the metadata
 */
export function declaredInputs(
  notebook: Notebook,
  texts: ReadonlyMap<string, string>,
): string[] | null {
  const parsed = metadataSchema.safeParse(notebook.metadata.parallelsearch);
  if (!parsed.success)
    throw new Error(
      `Expected the notebook's metadata "parallelsearch" to hold a list "inputs", but: ${z.prettifyError(parsed.error)}`,
    );
  const inputs = parsed.data?.inputs?.map((input) =>
    input.replace(/\{([^{}]+)\}/g, (_, name: string) => {
      const text = texts.get(name);
      if (text !== undefined) return text;
      const known = [...texts.keys()].join(', ') || 'none';
      throw new Error(
        `Expected input ${input} to name a parameter that is a text; these are: ${known}.`,
      );
    }),
  );
  return inputs ?? null;
}

/**
 * Twelve hex digits that change with anything that a notebook's outputs can depend on;
 * `inputs` are the files and folders that cells read, relative to the kernel's working
 * folder.
 */
export async function contentHash(
  notebook: Notebook,
  { cwd, inputs }: { cwd: string; inputs: readonly string[] },
): Promise<string> {
  return configHash({
    code: codeCells(notebook).map(({ source }) => textOf(source)),
    cwd: path.resolve(cwd),
    build: await hashPath(packagePath('dist')),
    tslab: optionalVersion('tslab'),
    node: process.version,
    inputs: await Promise.all(
      inputs.map(async (input) => [input, await hashPath(path.resolve(cwd, input))]),
    ),
  });
}

/** What is remembered of a code cell. */
type CellRecord = Pick<CodeCell, 'execution_count' | 'outputs'> & { ms: number };
type NotebookRecord = { elapsedMs: number; cells: CellRecord[] };

/**
 * Gives the code cells the outputs that were remembered under `hash`; null where there
 * are none, or unreadable ones.
 */
export async function restoreOutputs(
  folder: string,
  hash: string,
  notebook: Notebook,
): Promise<Timing | null> {
  const record = await recordStore(folder)
    .read<NotebookRecord>(hash, hash)
    .catch(() => null);
  if (!record) return null;
  const { elapsedMs, cells } = record.value;
  codeCells(notebook).forEach((cell, i) => {
    const { execution_count, outputs } = cells[i];
    Object.assign(cell, { execution_count, outputs });
  });
  return { elapsedMs, cellMs: cells.map(({ ms }) => ms) };
}

/** Remembers the outputs of a notebook that has passed. */
export async function rememberOutputs(
  folder: string,
  hash: string,
  notebook: Notebook,
  { elapsedMs, cellMs }: Timing,
): Promise<void> {
  const cells = codeCells(notebook).map(({ execution_count, outputs }, i) => ({
    ms: cellMs[i],
    execution_count,
    outputs,
  }));
  const value: NotebookRecord = { elapsedMs, cells };
  await recordStore(folder).write(hash, { hash, provenance: provenanceHere(), value });
}
