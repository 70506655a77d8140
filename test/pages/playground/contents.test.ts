/** Which weights the page carries. */
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  adapterFolder,
  INITIAL_MODELS,
  modelFolder,
  runName,
  stepFolder,
} from '../../../lib/experiments/runs.js';
import { readPlayground } from '../../../lib/pages/playground/contents.js';
import { SETUP_FILE, type PlaygroundSetup } from '../../../lib/pages/playground/setup.js';
import { temporaryFolder } from '../../folder.js';

const METHODS = ['parallelsearch', 'search-r1'] as const;
const ADAPTER = ['adapter_config.json', 'adapter_model.safetensors'];

const root = temporaryFolder();
beforeAll(() => {
  for (const model of INITIAL_MODELS) {
    symlinkSync(modelFolder(model), modelFolder(model, root));
    for (const method of METHODS) {
      const run = { method, model, seed: 1 };
      mkdirSync(adapterFolder(run, root));
      for (const file of [...ADAPTER, 'train_config.json'])
        cpSync(join(adapterFolder(run), file), join(adapterFolder(run, root), file));
    }
  }
});

/** Puts an adapter of a step into a run's folder, its content the folder's name. */
function keepStep(method: (typeof METHODS)[number], step: number): void {
  const run = { method, model: 'instruct', seed: 1 } as const;
  const folder = join(adapterFolder(run, root), stepFolder(step));
  mkdirSync(folder);
  for (const file of ADAPTER) writeFileSync(join(folder, file), `${runName(run)} ${step}`);
}

async function read() {
  const files = await readPlayground(root);
  return { files, setup: JSON.parse(files.get(SETUP_FILE) as string) as PlaygroundSetup };
}
const idsOf = ({ checkpoints }: PlaygroundSetup): string[] => checkpoints.map(({ id }) => id);

describe('readPlayground', () => {
  it('has both ends of the training, and begins with the trained policies', async () => {
    const { setup } = await read();
    expect(idsOf(setup)).toEqual(['instruct', 'instruct-step-30', 'base', 'base-step-30']);
    expect(setup.firstCheckpoint).toBe('instruct-step-30');
    expect(setup.checkpoints.map(({ title }) => title)).toEqual([
      'instruct, before GRPO',
      'instruct, after 30 steps of GRPO (seed 1)',
      'base, before GRPO',
      'base, after 30 steps of GRPO (seed 1)',
    ]);
    expect(setup.checkpoints[0].adapters).toEqual({});
  });

  it('has the kept steps between them, where both methods have them', async () => {
    for (const step of [3, 10]) for (const method of METHODS) keepStep(method, step);
    keepStep('parallelsearch', 6);
    const { files, setup } = await read();
    expect(idsOf(setup).slice(0, 4)).toEqual([
      ...['instruct', 'instruct-step-3', 'instruct-step-10', 'instruct-step-30'],
    ]);
    const folder = 'instruct-search-r1-seed1/step-3';
    expect(setup.checkpoints[1].adapters['search-r1']).toBe(folder);
    expect(String(files.get(`${folder}/adapter_model.safetensors`))).toBe('instruct-search-r1-seed1 3');
    expect([...files.keys()].filter((name) => name.includes('step-6'))).toEqual([]);
  });

  it('names weights that are missing', async () => {
    rmSync(join(root, 'base-search-r1-seed1'), { recursive: true });
    await expect(readPlayground(root)).rejects.toThrow(
      /Expected weights in .*base-search-r1-seed1, but there are none/,
    );
  });
});
