import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readJson } from '../../lib/io/files.js';
import { publishBest, type DevPoint } from '../../lib/small-world/train-runs.js';
import { keptAdapter } from '../../lib/training/run.js';
import { linesOf } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';

it('publishes the adapter with the most reward on dev, and says so in the curve', async () => {
  const [from, to] = ['run', 'published'].map((name) => join(temporaryFolder(), name));
  const curve = [0.2, 0.9, 0.5].map((reward, i): DevPoint => ({
    step: 25 * (i + 1),
    reward,
    outcome: 1 - reward,
    decomposition: 1 / 3,
    modelCalls: 2,
  }));
  for (const { step } of curve) {
    const folder = join(from, keptAdapter(step));
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'adapter_model.safetensors'), `weights after ${step}`);
    writeFileSync(join(folder, 'adapter_config.json'), '{"r":4,"base_model_name_or_path":"../../elsewhere"}');
    writeFileSync(join(folder, 'train_config.json'), '{}');
  }
  writeFileSync(join(from, 'metrics.jsonl'), '{"step":0,"reward":0.123456789}\n{"step":1,"reward":1}\n');
  mkdirSync(to);
  writeFileSync(join(to, 'left over'), '');
  await publishBest(from, to, curve, 'instruct-2');
  expect(readFileSync(join(to, 'adapter_model.safetensors'), 'utf8')).toBe('weights after 50');
  expect(await readJson(join(to, 'adapter_config.json'))).toEqual({
    r: 4,
    base_model_name_or_path: '../instruct-2',
  });
  expect(linesOf(join(to, 'metrics.jsonl'))).toEqual([
    { step: 0, reward: 0.1235 },
    { step: 1, reward: 1 },
  ]);
  expect(linesOf<{ chosen: boolean }>(join(to, 'dev.jsonl')).map(({ chosen }) => chosen)).toEqual([
    false,
    true,
    false,
  ]);
  expect(() => readFileSync(join(to, 'left over'))).toThrow('ENOENT');
});
