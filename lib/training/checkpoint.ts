/** Checkpoints of a training run: all that it takes to go on as if it had never stopped. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { readSafetensors } from '../policy/model-folder.js';
import { writeFileSafely } from '../io/files.js';
import { printSafetensors, type NamedArray } from '../policy/safetensors.js';
import type { Weights } from '../policy/weights.js';
import type { AdamW } from './adamw.js';

export interface Checkpoint<State> {
  /** What is trained: the weights, or an adapter's. The caller disposes of them. */
  trainable: Weights;
  optimizer: Map<string, NamedArray>;
  /** Anything else, as JSON: the next step, counters, the configuration's hash. */
  state: State;
}

async function toArrays(weights: Weights): Promise<Map<string, NamedArray>> {
  const arrays = new Map<string, NamedArray>();
  for (const [key, tensor] of Object.entries(weights)) {
    arrays.set(key, { shape: tensor.shape, values: (await tensor.data()) as Float32Array });
  }
  return arrays;
}

/** Writes a checkpoint beside the old one and then takes its place: a kill leaves one of the two whole. */
export async function saveCheckpoint<State>(
  folder: string,
  trainable: Weights,
  optimizer: AdamW,
  state: State,
): Promise<void> {
  const aside = `${folder}.partial`;
  await rm(aside, { recursive: true, force: true });
  await mkdir(aside, { recursive: true });
  const write = async (name: string, arrays: Map<string, NamedArray>): Promise<void> =>
    writeFileSafely(join(aside, name), printSafetensors(arrays, { storage: 'F32' }));
  await write('trainable.safetensors', await toArrays(trainable));
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

/** The newest whole checkpoint, or null when there is none. */
export async function loadCheckpoint<State>(folder: string): Promise<Checkpoint<State> | null> {
  const found = [folder, `${folder}.old`].find((path) => existsSync(join(path, 'state.json')));
  if (!found) return null;
  const arrays = await readSafetensors(join(found, 'trainable.safetensors'));
  return {
    trainable: Object.fromEntries(
      [...arrays].map(([key, { shape, values }]) => [key, tf.tensor(values, shape)]),
    ),
    optimizer: await readSafetensors(join(found, 'optimizer.safetensors')),
    state: JSON.parse(await readFile(join(found, 'state.json'), 'utf8')) as State,
  };
}

/** Keeps the lines of a JSONL file of steps before `nextStep`: those after the checkpoint are run again. */
export async function dropLinesFrom(path: string, nextStep: number): Promise<void> {
  if (!existsSync(path)) return;
  const lines = (await readFile(path, 'utf8')).split('\n');
  const isKept = (line: string): boolean => {
    try {
      return (JSON.parse(line) as { step: number }).step < nextStep;
    } catch {
      return false; // A line cut off by a kill.
    }
  };
  await writeFileSafely(
    path,
    lines
      .filter(isKept)
      .map((line) => `${line}\n`)
      .join(''),
  );
}

/** Where a run is, and the hash of all that decides its course. */
export interface RunState {
  nextStep: number;
  hash: string;
}

/**
 * The checkpoint of a run to go on from, or null for a run that has none.
 * @param hash of the configuration and the inputs
 * @throws Error when the folder holds a run with another hash: going on from it would mix the two
 */
export async function resumeCheckpoint(folder: string, hash: string): Promise<Checkpoint<RunState> | null> {
  const checkpoint = await loadCheckpoint<RunState>(folder);
  if (checkpoint && checkpoint.state.hash !== hash) {
    tf.dispose(checkpoint.trainable);
    throw new Error(
      `Expected ${folder} to hold a run of configuration ${hash}, but it holds one of ${checkpoint.state.hash}. Choose another folder, or remove that one.`,
    );
  }
  return checkpoint;
}
