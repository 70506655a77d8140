import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeAdapterCard } from '../../../tools/runs/publish.js';
import { realConfig } from '../../../lib/experiments/real-model/settings.js';
import { temporaryFolder } from '../../folder.js';

/** The card of an adapter evaluated after `steps`; the last but one is chosen. */
async function writeCard(steps: readonly number[]): Promise<string> {
  const folder = temporaryFolder();
  const write = (file: string, rows: readonly unknown[]) =>
    writeFile(join(folder, file), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  await write('train_config.json', [realConfig({ method: 'search-r1', seed: 1 })]);
  await write(
    'metrics.jsonl',
    [0, 1, 2, 3, 4, 5].map((reward) => ({ reward })),
  );
  await write(
    'dev.jsonl',
    steps.map((step, i) => ({
      step,
      reward: step,
      outcome: step / 100,
      chosen: i === steps.length - 2,
    })),
  );
  await writeAdapterCard(folder, { name: 'a', model: 'the model', base: '..', purpose: 'A test.' });
  return readFile(join(folder, 'README.md'), 'utf8');
}

test('a card has the interval of evaluations and the chosen step', async () => {
  for (const steps of [
    [0, 15, 30],
    [15, 30, 45],
  ])
    expect(await writeCard(steps)).toContain(`every 15 steps; this one, after ${steps[1]} steps`);
});

test('a card has means over the first and last five steps', async () => {
  expect(await writeCard([0, 15, 30])).toContain('| reward | 2.000 | 3.000 |');
});
