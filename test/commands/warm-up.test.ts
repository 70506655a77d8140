import { join } from 'node:path';
import { expect, it } from 'vitest';
import { warmUpCommand } from '../../lib/commands/warm-up.js';
import { readJson } from '../../lib/io/files.js';
import { readPeftConfig } from '../../lib/policy/folders/policy-folders.js';
import { temporaryFolder } from '../folder.js';
import { linesOf, outputs, writeTinyWorld } from './tiny-world.js';

const root = temporaryFolder();
const printed = outputs();
const { model, data } = await writeTinyWorld(root);

const warmUp = (...args: string[]) =>
  warmUpCommand()
    .exitOverride()
    .parseAsync([...args, '--backend', 'wasm'], { from: 'user' });

it('makes an adapter from demonstrations, and resumes', async () => {
  const out = join(root, 'run');
  const own = ['--model', model, '--data', data, '--seed', '4', '--out', out].concat(
    '--prompt-form',
    'short',
  );
  await warmUp(...own, '--steps', '2');
  const adapter = join(out, 'adapter');
  expect(await readJson(join(adapter, 'train_config.json'))).toMatchObject({
    method: 'demonstrations',
    trainer: 'demonstrations',
    seed: 4,
    lora: { rank: 8, alpha: 16 },
    demonstrations: { steps: 2 },
  });
  expect(await readPeftConfig(adapter)).toMatchObject({ rank: 8, alpha: 16 });
  const metrics = linesOf<{ loss: number }>(join(out, 'metrics.jsonl'));
  expect(metrics.map(({ loss }) => loss > 0)).toEqual([true, true]);
  expect(printed.stderr).toContain('2 steps to do');
  await warmUp(...own, '--steps', '2');
  expect(linesOf(join(out, 'metrics.jsonl'))).toHaveLength(2);
});

it('rejects overlong demonstrations', async () => {
  const out = join(root, 'long');
  const args = ['--model', model, '--data', data, '--out', out, '--prompt-form', 'full'];
  await expect(warmUp(...args)).rejects.toThrow(/at most 512 tokens/);
});

it('requires --model', async () => {
  await expect(warmUp('--data', data)).rejects.toThrow(/--model/);
  await expect(warmUp('base')).rejects.toThrow(/too many arguments/);
});
