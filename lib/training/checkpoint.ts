/**
 * Checkpoints of a training run. A resumed run gives the same result as an uninterrupted
 * one.
 */
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { descending } from 'd3-array';
import { z } from 'zod';
import {
  flush,
  makeFolder,
  oldPath,
  readJson,
  replaceFolder,
  writeLines,
  readLines,
} from '../io/files.js';
import { describeFaults } from '../io/json.js';
import { shortPath } from '../io/paths.js';
import { sha256 } from '../io/provenance.js';
import { fromNamedArrays, toNamedArrays, type Weights } from '../policy/model/weights.js';
import { parseSafetensors, encodeSafetensors, type NamedArray } from '../tensor/safetensors.js';
import type { AdamW } from './adamw.js';

const step = z.int().min(0);
const runStateSchema = z.strictObject({
  nextStep: step,
  hash: z.string(),
  /** Each rollback and its reason; absent if there was none. */
  rollbacks: z.array(z.strictObject({ from: step, to: step, alarm: z.string() })).optional(),
  /** Step and mean reward of the best adapter; absent if there is none yet. */
  best: z.strictObject({ step, reward: z.number() }).optional(),
  /** Rewards of the steps since the last comparison with the best; absent if none. */
  rewards: z.array(z.number()).optional(),
});
/** The progress of a run, and the hash of everything that determines its result. */
export type RunState = z.infer<typeof runStateSchema>;

export interface Checkpoint {
  /** The trained weights (the model's or an adapter's). The caller disposes of them. */
  trainable: Weights;
  optimizer: Map<string, NamedArray>;
  state: RunState;
}

const FILES = ['trainable.safetensors', 'optimizer.safetensors'] as const;
const STATE_FILE = 'state.json';
/** The state, the SHA-256 of each of {@link FILES}, and a checksum of both. */
const stateSchema = z.strictObject({
  state: runStateSchema,
  files: z.record(z.enum(FILES), z.string()),
  checksum: z.string(),
});
const computeChecksum = (state: RunState, files: Record<string, string>): string =>
  sha256(JSON.stringify([state, files]));

const namesIn = async (folder: string): Promise<string[]> =>
  existsSync(folder) ? (await readdir(folder)).filter((name) => /^\d+(\.old)?$/.test(name)) : [];

/** Steps that have a checkpoint folder, complete or not, newest first. */
const stepsIn = async (folder: string): Promise<number[]> =>
  [...new Set((await namesIn(folder)).map(parseFloat))].sort(descending);

/** The folder of a step's checkpoint; the previous one if a kill prevented the rename. */
function stepFolder(folder: string, step: number): string {
  const path = join(folder, String(step));
  return existsSync(path) ? path : oldPath(path);
}

/**
 * Writes a step's checkpoint. The folder appears once all of it is on disk, and the
 * previous checkpoint is kept, so that at least one is intact after a kill or a disk
 * fault.
 * @param records files with one line per step, which are flushed to disk first
 */
export async function saveCheckpoint(
  folder: string,
  trainable: Weights,
  optimizer: AdamW,
  state: RunState,
  records: readonly string[] = [],
): Promise<void> {
  const { nextStep } = state;
  const target = join(folder, String(nextStep));
  // A run can be interrupted right after a step whose checkpoint was saved.
  const saved = await readCheckpoint(target, nextStep).catch(() => null);
  if (saved && JSON.stringify(saved.state) === JSON.stringify(state)) return;
  for (const file of records.filter((path) => existsSync(path))) await flush(file);
  const isNew = !existsSync(folder);
  await makeFolder(folder);
  if (isNew) await flush(dirname(folder));
  for (const name of await readdir(folder))
    if (/^\d+\.partial$/.test(name)) await rm(join(folder, name), { recursive: true });
  const partial = `${target}.partial`;
  await mkdir(partial);
  const arrays = [await toNamedArrays(trainable), await optimizer.toArrays()];
  const files: Record<string, string> = {};
  for (const [i, name] of FILES.entries()) {
    const bytes = encodeSafetensors(arrays[i], { storage: 'F32' });
    files[name] = sha256(bytes);
    await writeFile(join(partial, name), bytes, { flush: true });
  }
  const text = JSON.stringify({ state, files, checksum: computeChecksum(state, files) });
  await writeFile(join(partial, STATE_FILE), text, { flush: true });
  // First deletes checkpoints of steps that a rollback undid: after a kill, the run would
  // resume from them.
  for (const name of await namesIn(folder))
    if (parseFloat(name) > nextStep) await rm(join(folder, name), { recursive: true });
  await replaceFolder(partial, target);
  await removeOlder(folder, nextStep);
}

/** Deletes all checkpoints before a step except the last one. */
async function removeOlder(folder: string, step: number): Promise<void> {
  const before = (await stepsIn(folder)).find((other) => other < step);
  const kept = [step, before ?? step].map((each) => stepFolder(folder, each));
  for (const name of await namesIn(folder))
    if (parseFloat(name) <= step && !kept.includes(join(folder, name)))
      await rm(join(folder, name), { recursive: true });
}

async function readCheckpoint(
  folder: string,
  step: number,
): Promise<Omit<Checkpoint, 'trainable'> & { trained: Map<string, NamedArray> }> {
  const parsed = stateSchema.safeParse(await readJson(join(folder, STATE_FILE)));
  if (!parsed.success) throw new Error(`${STATE_FILE}: ${describeFaults(parsed.error)}`);
  const { state, files, checksum } = parsed.data;
  if (checksum !== computeChecksum(state, files))
    throw new Error(`${STATE_FILE} does not match its checksum`);
  if (state.nextStep !== step) throw new Error(`${STATE_FILE} belongs to step ${state.nextStep}`);
  const [trained, optimizer] = await Promise.all(
    FILES.map(async (name) => {
      const bytes = await readFile(join(folder, name));
      if (sha256(bytes) !== files[name]) throw new Error(`${name} does not match its checksum`);
      return parseSafetensors(bytes);
    }),
  );
  return { trained, optimizer, state };
}

/**
 * Loads the newest intact checkpoint of a run, or null if there is none.
 * @param hash of the configuration and the inputs
 * @param options.before considers only checkpoints before this step
 * @param options.differences from the run in the folder, if it has another hash
 * @param options.log receives a line for each damaged checkpoint
 * @throws Error if the folder has a run with another hash, or only damaged checkpoints
 */
export async function resumeCheckpoint(
  folder: string,
  hash: string,
  options: {
    before?: number | undefined;
    differences?: () => Promise<string>;
    log?: (line: string) => void;
  } = {},
): Promise<Checkpoint | null> {
  const { before = Infinity, differences, log = console.error } = options;
  const steps = (await stepsIn(folder)).filter((step) => step < before);
  for (const step of steps) {
    const path = stepFolder(folder, step);
    const checkpoint = await readCheckpoint(path, step).catch(({ message }: Error) => {
      log(`The checkpoint ${path} is damaged and was skipped: ${message}.`);
      return null;
    });
    if (!checkpoint) continue;
    const { trained, optimizer, state } = checkpoint;
    if (state.hash !== hash)
      throw new Error(
        `Expected ${shortPath(folder)} to hold a run of configuration ${hash}, but it holds one of ${state.hash}${differences ? `: ${await differences()}` : ''}. Choose another folder, or remove that one.`,
      );
    // Left over by a kill.
    await removeOlder(folder, step);
    return { trainable: fromNamedArrays(trained), optimizer, state };
  }
  if (steps.length === 0) return null;
  throw new Error(
    `Expected an intact checkpoint in ${shortPath(folder)}, but all are damaged. Remove the folder to start over.`,
  );
}

/** Keeps only the lines of steps before `nextStep`; later steps will be repeated. */
export async function dropLinesFrom(path: string, nextStep: number): Promise<void> {
  if (!existsSync(path)) return;
  const isKept = (line: string): boolean => {
    try {
      return (JSON.parse(line) as { step: number }).step < nextStep;
    } catch {
      return false; // truncated by a kill
    }
  };
  // Streams lines: the trajectories of a long run exceed the maximum string length.
  await writeLines(path, readLines(createReadStream(path)), ({ text }) =>
    isKept(text) ? `${text}\n` : '',
  );
}
