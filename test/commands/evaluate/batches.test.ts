import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Setup } from '../../../lib/commands/common/setup.js';
import { defaultBatchSize } from '../../../lib/commands/evaluate/answering.js';
import { readJson } from '../../../lib/io/files.js';
import { packagePath } from '../../../lib/io/paths.js';
import { folderForEach } from '../../folder.js';

const inFolder = folderForEach();

it('answers fewer questions at a time only with a large model on the CPU', async () => {
  const small = packagePath('data', 'checkpoints', 'base-1');
  const config = await readJson(`${small}/config.json`);
  // More than 20 million parameters.
  writeFileSync(
    inFolder('config.json'),
    JSON.stringify({ ...(config as object), vocab_size: 200_000 }),
  );
  const sizeOf = (model: string, backend: string): Promise<number> =>
    defaultBatchSize({ folders: { model }, backend } as Setup);
  expect(await sizeOf(small, 'wasm')).toBe(128);
  expect(await sizeOf(inFolder(), 'wasm')).toBe(32);
  expect(await sizeOf(inFolder(), 'gpu')).toBe(128);
  expect(await defaultBatchSize({} as Setup)).toBe(128);
});
