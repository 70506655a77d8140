/**
 * Caches what a notebook's cells have shown, by a hash of everything it can depend on:
 * the code with its parameters, this library's build, the versions of tslab and Node, the
 * working folder and the declared inputs.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { parseAs } from '../io/json.js';
import { optionalVersion } from '../io/optional.js';
import { packagePath } from '../io/paths.js';
import { configHash, provenanceHere } from '../io/provenance.js';
import { recordStore } from '../io/records.js';
import { codeCells, joinLines, type CodeCell, type Notebook } from './nbformat.js';

export interface Timing {
  elapsedMs: number;
  /** Milliseconds of each code cell. */
  cellMs: number[];
}

/** The hash of a file, or of a folder's files and their names; `absent` if missing. */
export async function hashPath(target: string): Promise<string> {
  if (!existsSync(target)) return 'absent';
  const hash = createHash('sha256');
  for (const file of listFiles(target)) {
    hash.update(`${path.relative(target, file).split(path.sep).join('/')}\0`);
    for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
    hash.update('\0');
  }
  return hash.digest('hex');
}

function listFiles(target: string): string[] {
  if (statSync(target).isFile()) return [target];
  const names = readdirSync(target, { recursive: true, encoding: 'utf8' });
  const files = names.map((name) => path.join(target, name));
  return files.filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile()).sort();
}

const metadataSchema = z.looseObject({ inputs: z.array(z.string()).optional() }).optional();

/**
 * The inputs in a notebook's metadata, `"parallelsearch": { "inputs": ["../data",
 * "{folder}"] }`: files and folders relative to the working folder, where `{folder}` is
 * the value of a text parameter. Null if it declares none: then, unlike with an empty
 * list, its outputs may depend on anything.
 * @throws Error for an unknown parameter or invalid metadata
 */
export function declaredInputs(
  notebook: Notebook,
  texts: ReadonlyMap<string, string>,
): string[] | null {
  const expected = `the notebook's metadata "parallelsearch" to hold a list "inputs"`;
  const declared = parseAs(metadataSchema, notebook.metadata.parallelsearch, expected);
  const inputs = declared?.inputs?.map((input) =>
    input.replace(/\{([^{}]+)\}/g, (_, name: string) => {
      const text = texts.get(name);
      if (text !== undefined) return text;
      const names = [...texts.keys()].join(', ') || 'none';
      throw new Error(`Expected input ${input} to name a text parameter (${names}).`);
    }),
  );
  return inputs ?? null;
}

/** Twelve hex digits of a hash over everything that a notebook's outputs depend on. */
export async function hashNotebook(
  notebook: Notebook,
  { cwd, inputs }: { cwd: string; inputs: readonly string[] },
): Promise<string> {
  return configHash({
    code: codeCells(notebook).map(({ source, metadata }) => [joinLines(source), metadata.tags]),
    cwd: path.resolve(cwd),
    build: await hashPath(packagePath('dist')),
    tslab: optionalVersion('tslab'),
    node: process.version,
    inputs: await Promise.all(
      inputs.map(async (input) => [input, await hashPath(path.resolve(cwd, input))]),
    ),
  });
}

interface NotebookRecord {
  elapsedMs: number;
  cells: (Pick<CodeCell, 'execution_count' | 'outputs'> & { ms: number })[];
}

/** Fills the code cells with cached outputs; returns null if there are none. */
export async function restoreOutputs(
  folder: string,
  hash: string,
  notebook: Notebook,
): Promise<Timing | null> {
  const store = recordStore(folder);
  // An unreadable record counts as missing.
  const record = await store.read<NotebookRecord>(hash, hash).catch(() => null);
  if (!record) return null;
  const { elapsedMs, cells } = record.value;
  codeCells(notebook).forEach((cell, i) => {
    const { execution_count, outputs } = cells[i];
    Object.assign(cell, { execution_count, outputs });
  });
  return { elapsedMs, cellMs: cells.map(({ ms }) => ms) };
}

/** Caches the outputs of a notebook that has passed. */
export async function saveOutputs(
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
