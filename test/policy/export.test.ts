import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseSafetensors, printSafetensors, parseStored } from '../../lib/tensor/safetensors.js';
import { roundAdapter } from '../../lib/policy/model-folder.js';
import { folderForEach } from '../folder.js';

const folder = folderForEach();

it('roundAdapter rounds to significant bits and is idempotent', async () => {
  const file = folder('adapter_model.safetensors');
  const values = Float32Array.of(1.02, -0.7, 0, 100.4, 3e-4, 63.4);
  const metadata = { config_hash: 'abc' };
  writeFileSync(
    file,
    printSafetensors(new Map([['a', { shape: [2, 3], values }]]), { storage: 'F16', metadata }),
  );
  await roundAdapter(folder(), 6);
  const bytes = readFileSync(file);
  const rounded = parseSafetensors(bytes).get('a')!;
  // By hand: in [1, 2) numbers of six bits are 1/32 apart, in [64, 128) 2, in [2^-12,
  // 2^-11) 2^-17.
  expect([...rounded.values]).toEqual([1.03125, -0.703125, 0, 100, 39 * 2 ** -17, 63]);
  expect(rounded.shape).toEqual([2, 3]);
  expect(parseStored(bytes).metadata).toMatchObject(metadata);
  await roundAdapter(folder(), 6);
  expect(readFileSync(file)).toEqual(bytes);
});
