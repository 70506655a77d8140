import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DevPoint } from '../../../lib/experiments/running/train-runs.js';
import {
  adapterFolder,
  trainConfigForRun,
  type PolicyRun,
} from '../../../lib/experiments/running/policy-runs.js';
import { keptAdapter } from '../../../lib/training/run.js';
import { publishBest } from '../../../tools/runs/train-run.js';
import { linesOf } from '../../commands/tiny-world.js';
import { folderForEach } from '../../folder.js';

const inFolder = folderForEach();
const KEPT: PolicyRun = { method: 'parallelsearch', model: 'instruct', initSeed: 1, seed: 1 };

describe('publishBest', () => {
  const CURVE = [0.2, 0.5, 0.9, 0.6].map((reward, i): DevPoint => {
    const step = 25 * (i + 1);
    return { step, reward, outcome: 1 - reward, decomposition: 1 / 3, modelCalls: 2 };
  });

  /** The folder of a finished run whose adapters differ. */
  function finishedRun(run: PolicyRun): string {
    const folder = inFolder('run');
    for (const { step } of CURVE) {
      const adapter = join(folder, keptAdapter(step));
      mkdirSync(adapter, { recursive: true });
      const files = {
        'adapter_model.safetensors': `weights after ${step}`,
        'adapter_config.json': '{"r":4,"base_model_name_or_path":"../../elsewhere"}',
        'train_config.json': JSON.stringify(trainConfigForRun(run)),
      };
      for (const [file, text] of Object.entries(files)) writeFileSync(join(adapter, file), text);
    }
    const metrics = '{"step":0,"reward":0.123456789}\n{"step":1,"reward":1}\n';
    writeFileSync(join(folder, 'metrics.jsonl'), metrics);
    return folder;
  }

  const published = async (run: PolicyRun) => {
    const target = adapterFolder(run, inFolder());
    mkdirSync(target);
    writeFileSync(join(target, 'left over'), '');
    await publishBest(run, finishedRun(run), CURVE, inFolder());
    return { target, read: (...names: string[]) => readFileSync(join(target, ...names), 'utf8') };
  };

  it('replaces the adapter by the one with the highest dev reward', async () => {
    const { target, read } = await published({ ...KEPT, initSeed: 2 });
    expect(readdirSync(target).sort()).toEqual([
      'README.md',
      'adapter_config.json',
      'adapter_model.safetensors',
      'dev.jsonl',
      'metrics.jsonl',
      'train_config.json',
    ]);
    expect(read('adapter_model.safetensors')).toBe('weights after 75');
    expect(JSON.parse(read('adapter_config.json'))).toEqual({
      r: 4,
      base_model_name_or_path: '../instruct-2',
    });
    expect(linesOf(join(target, 'metrics.jsonl'))).toEqual([
      { step: 0, reward: 0.1235 },
      { step: 1, reward: 1 },
    ]);
    const curve = linesOf<{ chosen: boolean }>(join(target, 'dev.jsonl'));
    expect(curve.map(({ chosen }) => chosen)).toEqual([false, false, true, false]);
    expect(read('README.md')).toContain('after 75 steps');
    expect(read('README.md')).toContain('25: 0.800, 50: 0.500, 75: 0.100, 100: 0.400');
    expect(read('README.md')).not.toContain('step-');
  });

  it('publishes kept steps with a valid path to the model', async () => {
    const { target, read } = await published(KEPT);
    expect(readdirSync(target)).toEqual(expect.arrayContaining(['step-25', 'step-75']));
    for (const step of [25, 75]) {
      expect(read(`step-${step}`, 'adapter_model.safetensors')).toBe(`weights after ${step}`);
      expect(JSON.parse(read(`step-${step}`, 'adapter_config.json'))).toMatchObject({
        base_model_name_or_path: '../../instruct-1',
      });
    }
    expect(read('README.md')).toContain('`step-25`, `step-75`');
  });

  it('changes nothing if an adapter is missing', async () => {
    const { target } = await published(KEPT);
    const before = readdirSync(target);
    await expect(publishBest(KEPT, inFolder('nowhere'), CURVE, inFolder())).rejects.toThrow(
      'ENOENT',
    );
    expect(readdirSync(target)).toEqual(before);
  });
});
