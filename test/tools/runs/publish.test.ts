import { readFileSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { realConfig } from '../../../lib/experiments/real-model/settings.js';
import {
  encodeSafetensors,
  parseSafetensors,
  parseStored,
} from '../../../lib/tensor/safetensors.js';
import { roundAdapter, writeAdapterCard } from '../../../tools/runs/publish.js';
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

test('a card has the interval between evaluations and the chosen step', async () => {
  for (const steps of [
    [0, 15, 30],
    [15, 30, 45],
  ])
    expect(await writeCard(steps)).toContain(`every 15 steps; this one, after ${steps[1]} steps`);
});

test('a card has means over the first and last five steps', async () => {
  expect(await writeCard([0, 15, 30])).toContain('| reward | 2.000 | 3.000 |');
});

test('roundAdapter rounds to significant bits and is idempotent', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'adapter_model.safetensors');
  const values = Float32Array.of(1.02, -0.7, 0, 100.4, 3e-4, 63.4);
  const metadata = { config_hash: 'abc' };
  writeFileSync(
    file,
    encodeSafetensors(new Map([['a', { shape: [2, 3], values }]]), { storage: 'F16', metadata }),
  );
  await roundAdapter(folder, 6);
  const bytes = readFileSync(file);
  const rounded = parseSafetensors(bytes).get('a')!;
  // Numbers of six bits are 1/32 apart in [1, 2), 2 in [64, 128), 2^-17 in [2^-12,
  // 2^-11).
  expect([...rounded.values]).toEqual([1.03125, -0.703125, 0, 100, 39 * 2 ** -17, 63]);
  expect(rounded.shape).toEqual([2, 3]);
  expect(parseStored(bytes).metadata).toMatchObject(metadata);
  await roundAdapter(folder, 6);
  expect(readFileSync(file)).toEqual(bytes);
});
