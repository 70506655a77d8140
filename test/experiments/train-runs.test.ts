/** What training is told, and where its adapters go. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { trainingPreset } from '../../lib/methods/config.js';
import { publishRun, recordedSeconds, trainArguments, trainingOf } from '../../lib/experiments/train-runs.js';
import { adapterFolder, type PolicyRun } from '../../lib/experiments/runs.js';
import { keptAdapter } from '../../lib/training/run.js';
import { folderForEach } from '../folder.js';

const inFolder = folderForEach();
const KEPT: PolicyRun = { method: 'parallelsearch', model: 'instruct', seed: 1 };

describe('trainArguments', () => {
  it('keep steps of the first runs from instruct, with the paper’s lambdas', () => {
    expect(trainArguments(KEPT, 'out').slice(-2)).toEqual(['--keep-steps', '3,6,10']);
    expect(trainArguments({ ...KEPT, method: 'search-r1' }, 'out')).toContain('--keep-steps');
    for (const other of [{ seed: 2 }, { model: 'base' }, { lambdas: { lambdaD: 0, lambdaS: 0.35 } }] as const)
      expect(trainArguments({ ...KEPT, ...other }, 'out')).not.toContain('--keep-steps');
  });

  it('ask for fewer steps of a training that is cut short, and keep only those that there are', () => {
    expect(trainArguments(KEPT, 'out', 6).slice(-4)).toEqual(['--steps', '6', '--keep-steps', '3,6']);
    expect(trainArguments(KEPT, 'out', 1).slice(-2)).toEqual(['--steps', '1']);
    expect(trainArguments(KEPT, 'out', 10_000)).toContain('30');
  });
});

describe('trainingOf', () => {
  it('plans nothing where all runs are trained, else those that are not, by what the others took', async () => {
    expect(await trainingOf(() => [KEPT]).plan()).toBeNull();
    const seconds = await recordedSeconds(join(adapterFolder(KEPT), 'metrics.jsonl'), [
      ...['rollout_seconds', 'update_seconds'],
    ]);
    expect(seconds).toBeGreaterThan(0);
    expect(await trainingOf(() => [KEPT, { ...KEPT, seed: 99 }]).plan()).toEqual({
      ...{ work: '1 of 2 runs to train (30 GRPO steps)', seconds: seconds / 2 },
    });
  });

  it('adds up what the lines of metrics say, and nothing where there are none', async () => {
    writeFileSync(inFolder('metrics.jsonl'), '{"a":1,"b":2,"c":100}\n{"a":0.5}\n');
    expect(await recordedSeconds(inFolder('metrics.jsonl'), ['a', 'b'])).toBe(3.5);
    expect(await recordedSeconds(inFolder('none'), ['a'])).toBe(0);
  });
});

describe('publishRun', () => {
  let root: string;
  beforeEach(() => void (root = inFolder()));

  /** The folder of a finished run, whose adapters are told apart by their content. */
  function finishedRun(adapters: readonly string[]): string {
    const folder = join(root, 'run');
    for (const name of adapters) {
      mkdirSync(join(folder, name), { recursive: true });
      const files = {
        'adapter_model.safetensors': name,
        'adapter_config.json': '{"r":16,"base_model_name_or_path":"../instruct"}',
        'train_config.json': JSON.stringify(trainingPreset('parallelsearch', 'instruct', 1)),
      };
      for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, name, file), text);
    }
    writeFileSync(join(folder, 'metrics.jsonl'), '{"step":0,"reward":1}\n');
    return folder;
  }

  it('puts the kept adapters beside the last one, each with a path to the model that holds there', async () => {
    const target = adapterFolder(KEPT, root);
    mkdirSync(join(target, 'step-1'), { recursive: true });
    await publishRun(KEPT, finishedRun(['adapter', ...[3, 6, 10].map(keptAdapter)]), { root });
    const read = (...names: string[]): string => readFileSync(join(target, ...names), 'utf8');
    expect(readdirSync(target).sort()).toEqual([
      ...['README.md', 'adapter_config.json', 'adapter_model.safetensors', 'metrics.jsonl'],
      ...['step-10', 'step-3', 'step-6', 'train_config.json'],
    ]);
    expect(read('adapter_model.safetensors')).toBe('adapter');
    expect(read('README.md')).toContain('In `step-3`, `step-6`, `step-10` is the adapter');
    for (const step of [3, 6, 10]) {
      expect(readdirSync(join(target, `step-${step}`)).sort()).toEqual([
        ...['adapter_config.json', 'adapter_model.safetensors'],
      ]);
      expect(read(`step-${step}`, 'adapter_model.safetensors')).toBe(keptAdapter(step));
      expect(JSON.parse(read(`step-${step}`, 'adapter_config.json'))).toEqual({
        ...{ r: 16, base_model_name_or_path: '../../instruct' },
      });
    }
  });

  it('leaves the published adapters alone where one is missing', async () => {
    const target = adapterFolder(KEPT, root);
    mkdirSync(target);
    await expect(publishRun(KEPT, finishedRun(['adapter']), { root })).rejects.toThrow('adapter-step-3');
    expect(readdirSync(target)).toEqual([]);
  });

  it('publishes a run without kept steps', async () => {
    const other = { ...KEPT, seed: 2 };
    await publishRun(other, finishedRun(['adapter']), { root });
    const files = readdirSync(adapterFolder(other, root));
    expect(files).toHaveLength(5);
    expect(readFileSync(join(adapterFolder(other, root), 'README.md'), 'utf8')).not.toContain('step-');
  });
});
