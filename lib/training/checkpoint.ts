/** Checkpoints of a training run: all that it takes to go on as if it had never stopped. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson, writeFileSafely } from '../io/files.js';
import { readSafetensors } from '../policy/model-folder.js';
import { printSafetensors, type NamedArray } from '../policy/safetensors.js';
import { fromNamedArrays, toNamedArrays, type Weights } from '../policy/weights.js';
import type { AdamW } from './adamw.js';

/** Where a run is, and the hash of all that decides its course. */
export interface RunState {
  nextStep: number;
  hash: string;
}

export interface Checkpoint {
  /** What is trained: the weights, or an adapter's. The caller disposes of them. */
  trainable: Weights;
  optimizer: Map<string, NamedArray>;
  state: RunState;
}

/** Writes a checkpoint beside the old one and then takes its place: a kill leaves one of the two whole. */
export async function saveCheckpoint(
  folder: string,
  trainable: Weights,
  optimizer: AdamW,
  state: RunState,
): Promise<void> {
  const aside = `${folder}.partial`;
  await rm(aside, { recursive: true, force: true });
  await mkdir(aside, { recursive: true });
  const write = async (name: string, arrays: Map<string, NamedArray>): Promise<void> =>
    writeFileSafely(join(aside, name), printSafetensors(arrays, { storage: 'F32' }));
  await write('trainable.safetensors', await toNamedArrays(trainable));
  await write('optimizer.safetensors', await optimizer.toArrays());
  await writeFileSafely(join(aside, 'state.json'), JSON.stringify(state));
  const old = `${folder}.old`;
  // Without `folder`, a kill came between the renames below: then `old` is the only whole one.
  if (existsSync(folder)) {
    await rm(old, { recursive: true, force: true });
    await rename(folder, old);
  }
  await rename(aside, folder);
  await rm(old, { recursive: true, force: true });
}

/**
 * The newest whole checkpoint of a run to go on from, or null where there is none.
 * @param hash of the configuration and the inputs
 * @throws Error when the folder holds a run with another hash: going on from it would mix the two
 */
export async function resumeCheckpoint(folder: string, hash: string): Promise<Checkpoint | null> {
  const found = [folder, `${folder}.old`].find((path) => existsSync(join(path, 'state.json')));
  if (!found) return null;
  const state = (await readJson(join(found, 'state.json'))) as RunState;
  if (state.hash !== hash) {
    throw new Error(
      `Expected ${folder} to hold a run of configuration ${hash}, but it holds one of ${state.hash}. Choose another folder, or remove that one.`,
    );
  }
  const optimizer = await readSafetensors(join(found, 'optimizer.safetensors'));
  const trainable = await readSafetensors(join(found, 'trainable.safetensors'));
  return { trainable: fromNamedArrays(trainable), optimizer, state };
}

/** Keeps the lines of a JSONL file of steps before `nextStep`: those after the checkpoint are run again. */
export async function dropLinesFrom(path: string, nextStep: number): Promise<void> {
  if (!existsSync(path)) return;
  const isKept = (line: string): boolean => {
    try {
      return (JSON.parse(line) as { step: number }).step < nextStep;
    } catch {
      return false; // A line cut off by a kill.
    }
  };
  const kept = (await readFile(path, 'utf8')).split('\n').filter(isKept);
  await writeFileSafely(path, kept.map((line) => `${line}\n`).join(''));
}
