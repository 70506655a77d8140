/**
 * Checkpoints of a training run: all that it takes to go on as if it had never stopped.
 */
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { descending } from 'd3-array';
import { z } from 'zod';
import {
  flush,
  oldPath,
  readJson,
  replaceFolder,
  writeTextsSafely,
  readLines,
} from '../io/files.js';
import { shortPath } from '../io/paths.js';
import { parseSafetensors, printSafetensors, type NamedArray } from '../tensor/safetensors.js';
import { fromNamedArrays, toNamedArrays, type Weights } from '../policy/weights.js';
import type { AdamW } from './adamw.js';
import { sha256 } from '../io/provenance.js';

const step = z.int().min(0);
const runStateSchema = z.strictObject({
  nextStep: step,
  hash: z.string(),
  /**
   * Every time that the run went back to a checkpoint, and why; absent where it never
   * did.
   */
  rollbacks: z.array(z.strictObject({ from: step, to: step, alarm: z.string() })).optional(),
  /**
   * The number of steps of the adapter that is kept as the best, and its reward; absent
   * where there is none.
   */
  best: z.strictObject({ step, reward: z.number() }).optional(),
  /**
   * Of the steps that are still to be compared with the best; absent where there are
   * none.
   */
  rewards: z.array(z.number()).optional(),
});
/** Where a run is, and the hash of all that decides its course. */
export type RunState = z.infer<typeof runStateSchema>;

export interface Checkpoint {
  /** What is trained: the weights, or an adapter's. The caller disposes of them. */
  trainable: Weights;
  optimizer: Map<string, NamedArray>;
  state: RunState;
}

const FILES = ['trainable.safetensors', 'optimizer.safetensors'] as const;
const STATE_FILE = 'state.json';
/** The state with the SHA-256 of each of {@link FILES}, and one of all that. */
const stateSchema = z.strictObject({
  state: runStateSchema,
  files: z.record(z.enum(FILES), z.string()),
  checksum: z.string(),
});
const computeChecksum = (state: RunState, files: Record<string, string>): string =>
  sha256(JSON.stringify([state, files]));

const namesIn = async (folder: string): Promise<string[]> =>
  existsSync(folder) ? (await readdir(folder)).filter((name) => /^\d+(\.old)?$/.test(name)) : [];

/** The steps that have a checkpoint, whole or not, the newest first. */
const stepsIn = async (folder: string): Promise<number[]> =>
  [...new Set((await namesIn(folder)).map(parseFloat))].sort(descending);

/**
 * The folder of a step's checkpoint: the one of before, where a kill has kept the new one
 * from its name.
 */
function stepFolder(folder: string, step: number): string {
  const path = join(folder, String(step));
  return existsSync(path) ? path : oldPath(path);
}

/**
 * Writes the checkpoint of a step as a folder, which appears when all of it is on the
 * disk, and keeps the one before it: a kill or a damaged disk leaves one of the two
 * whole.
 * @param options.records files with lines of every step, which are to be on the disk
 * first
 */
export async function saveCheckpoint(
  folder: string,
  trainable: Weights,
  optimizer: AdamW,
  state: RunState,
  { records = [] }: { records?: readonly string[] } = {},
): Promise<void> {
  const { nextStep } = state;
  const target = join(folder, String(nextStep));
  // A run that is stopped right after a step that it saved.
  const saved = await readCheckpoint(target, nextStep).catch(() => null);
  if (saved && JSON.stringify(saved.state) === JSON.stringify(state)) return;
  for (const file of records.filter((path) => existsSync(path))) await flush(file);
  const isNew = (await mkdir(folder, { recursive: true })) !== undefined;
  if (isNew) await flush(dirname(folder));
  for (const name of await readdir(folder))
    if (/^\d+\.partial$/.test(name)) await rm(join(folder, name), { recursive: true });
  const aside = `${target}.partial`;
  await mkdir(aside);
  const arrays = [await toNamedArrays(trainable), await optimizer.toArrays()];
  const files: Record<string, string> = {};
  for (const [i, name] of FILES.entries()) {
    const bytes = printSafetensors(arrays[i], { storage: 'F32' });
    files[name] = sha256(bytes);
    await writeFile(join(aside, name), bytes, { flush: true });
  }
  const text = JSON.stringify({ state, files, checksum: computeChecksum(state, files) });
  await writeFile(join(aside, STATE_FILE), text, { flush: true });
  const remove = async (isUnwanted: (name: string) => boolean): Promise<void> => {
    for (const name of (await namesIn(folder)).filter(isUnwanted))
      await rm(join(folder, name), { recursive: true });
  };
  // Those of a course that was given up go first: beside the way back, a kill would have
  // the run go on from them.
  await remove((name) => parseFloat(name) > nextStep);
  await replaceFolder(aside, target);
  const before = (await stepsIn(folder)).find((step) => step < nextStep);
  const kept = [target, ...(before === undefined ? [] : [stepFolder(folder, before)])];
  await remove((name) => !kept.includes(join(folder, name)));
}

/** @throws Error naming the file that is missing, damaged or of another form */
async function readCheckpoint(
  folder: string,
  step: number,
): Promise<Omit<Checkpoint, 'trainable'> & { trained: Map<string, NamedArray> }> {
  const parsed = stateSchema.safeParse(await readJson(join(folder, STATE_FILE)));
  if (!parsed.success) throw new Error(`${STATE_FILE}: ${z.prettifyError(parsed.error)}`);
  const { state, files, checksum } = parsed.data;
  if (checksum !== computeChecksum(state, files))
    throw new Error(`${STATE_FILE} does not have its checksum`);
  if (state.nextStep !== step) throw new Error(`${STATE_FILE} is of step ${state.nextStep}`);
  const [trained, optimizer] = await Promise.all(
    FILES.map(async (name) => {
      const bytes = await readFile(join(folder, name));
      if (sha256(bytes) !== files[name]) throw new Error(`${name} does not have its checksum`);
      return parseSafetensors(bytes);
    }),
  );
  return { trained, optimizer, state };
}

/**
 * The newest whole checkpoint of a run to go on from, or null where there is none.
 * @param hash of the configuration and the inputs
 * @param options.before takes only a checkpoint made before this step
 * @param options.log is told of each that is damaged
 * @throws Error when the folder holds a run with another hash, since going on from it
 * would mix the two, or damaged ones only
 */
export async function resumeCheckpoint(
  folder: string,
  hash: string,
  {
    before = Infinity,
    log = console.error,
  }: { before?: number | undefined; log?: (line: string) => void } = {},
): Promise<Checkpoint | null> {
  const steps = (await stepsIn(folder)).filter((step) => step < before);
  for (const step of steps) {
    const path = stepFolder(folder, step);
    const found = await readCheckpoint(path, step).catch(({ message }: Error) => {
      log(`The checkpoint ${path} is damaged and not used: ${message}.`);
      return null;
    });
    if (!found) continue;
    const { trained, optimizer, state } = found;
    if (state.hash !== hash)
      throw new Error(
        `Expected ${shortPath(folder)} to hold a run of configuration ${hash}, but it holds one of ${state.hash}. Choose another folder, or remove that one.`,
      );
    return { trainable: fromNamedArrays(trained), optimizer, state };
  }
  if (steps.length === 0) return null;
  throw new Error(
    `Expected a whole checkpoint in ${shortPath(folder)}, but all are damaged. Remove it to begin again.`,
  );
}

/**
 * Keeps the lines of a JSONL file of steps before `nextStep`: those after the checkpoint
 * are run again.
 */
export async function dropLinesFrom(path: string, nextStep: number): Promise<void> {
  if (!existsSync(path)) return;
  const isKept = (line: string): boolean => {
    try {
      return (JSON.parse(line) as { step: number }).step < nextStep;
    } catch {
      return false; // A line cut off by a kill.
    }
  };
  // A line at a time: a long run's trajectories are more than a string can hold.
  async function* kept(): AsyncGenerator<string> {
    for await (const { text } of readLines(createReadStream(path)))
      if (isKept(text)) yield `${text}\n`;
  }
  await writeTextsSafely(path, kept());
}
