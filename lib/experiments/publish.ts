/** Puts a trained adapter where it is kept. */
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { greatest } from 'd3-array';
import { partialPath, copySafely, replaceFolder, writeFileSafely } from '../io/files.js';
import { copyAdapter } from '../policy/model-folder.js';
import { TRAIN_CONFIG_FILE } from '../training/config.js';
import { keptAdapter } from '../training/run.js';
import { writeAdapterCard, type CardOptions } from './adapter-card.js';
import type { DevPoint } from './dev-curve.js';
import { stepFolder } from './runs.js';

/** Lines of a file; none without one. */
export async function linesOf(path: string): Promise<string[]> {
  return existsSync(path) ? (await readFile(path, 'utf8')).split('\n').filter(Boolean) : [];
}

/** Four digits are enough to draw a curve. */
const rounded = (_: string, value: unknown): unknown =>
  typeof value === 'number' ? Number(value.toPrecision(4)) : value;
const printLines = (rows: readonly unknown[]): string =>
  rows.map((row) => `${JSON.stringify(row, rounded)}\n`).join('');

/**
 * What a card says, with the numbers of steps after which the adapter is kept as well.
 */
type Published = Omit<CardOptions, 'earlier'> & { earlier?: readonly number[] };

/**
 * Puts the adapter with the most reward on dev questions into the folder `to`, with its
 * configuration, metrics, dev curve and card.
 * @param folder of the finished run
 * @param curve of the adapters that it has kept; a point of no steps stands for the model
 * without one, and is not chosen
 */
export async function publishAdapter(
  to: string,
  folder: string,
  curve: readonly DevPoint[],
  { earlier = [], ...card }: Published,
): Promise<void> {
  const best = greatest(
    curve.filter(({ step }) => step > 0),
    (a, b) => a.reward - b.reward,
  )!;
  const aside = partialPath(to);
  try {
    const from = join(folder, keptAdapter(best.step));
    await copyAdapter(from, aside, card.base);
    await copySafely(join(from, TRAIN_CONFIG_FILE), join(aside, TRAIN_CONFIG_FILE));
    for (const step of earlier)
      await copyAdapter(
        join(folder, keptAdapter(step)),
        join(aside, stepFolder(step)),
        join('..', card.base),
      );
    const metrics = (await linesOf(join(folder, 'metrics.jsonl'))).map(
      (line) => JSON.parse(line) as unknown,
    );
    await writeFileSafely(join(aside, 'metrics.jsonl'), printLines(metrics));
    await writeFileSafely(
      join(aside, 'dev.jsonl'),
      printLines(curve.map((point) => ({ ...point, chosen: point === best }))),
    );
    await writeAdapterCard(aside, { ...card, earlier: earlier.map(stepFolder) });
    await replaceFolder(aside, to);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}
