import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { adaptersCommand } from '../../lib/commands/adapters.js';
import { READER, REAL_MODEL } from '../../lib/policy/folders/trained-models.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { temporaryFolder } from '../folder.js';
import { writeTinyAdapter, writeTinyModel } from '../training/tiny-adapter.js';
import { tinyTraining } from '../training/tiny.js';
import { captured } from './tiny-world.js';

const root = temporaryFolder();
const folder = join(root, 'runs', 'mine', 'adapter');
await useBackend('wasm');
await writeTinyModel(join(root, 'model'));
await writeTinyAdapter(folder, join(root, 'model'));
writeFileSync(join(folder, 'train_config.json'), JSON.stringify(tinyTraining({ seed: 7 })));
const points = [10, 20].map((step) => ({
  step,
  reward: 1,
  outcome: step / 40,
  decomposition: 0.25,
  modelCalls: 2.5,
  chosen: step === 20,
}));
writeFileSync(join(folder, 'dev.jsonl'), points.map((point) => JSON.stringify(point)).join('\n'));
mkdirSync(join(root, 'none'));

async function adapters(...args: string[]): Promise<string> {
  const printed = captured('stdout');
  await adaptersCommand().parseAsync(args, { from: 'user' });
  return printed();
}

it('lists base, method and recorded figures of the chosen step', async () => {
  expect(await adapters(join(root, 'runs'))).toMatch(
    /mine\/adapter +parallelsearch from model +– +0\.500 +0\.250 +2\.500$/m,
  );
  const [line] = (await adapters(root, '--json')).trim().split('\n');
  expect(JSON.parse(line)).toMatchObject({
    name: null,
    base: 'model',
    method: 'parallelsearch',
    seed: 7,
    trainedOn: null,
    dev: { step: 20, outcome: 0.5, decomposition: 0.25, modelCalls: 2.5 },
  });
});

it('lists an adapter of a method that is not registered here', async () => {
  const other = join(root, 'other', 'adapter');
  await writeTinyAdapter(other, join(root, 'model'));
  const config = { ...tinyTraining({ seed: 7 }), method: 'least-to-most' };
  writeFileSync(join(other, 'train_config.json'), JSON.stringify(config));
  expect(await adapters(join(root, 'other'))).toMatch(/other\/adapter +least-to-most from model/);
});

it('lists the name of a trained model and its training data', async () => {
  expect(await adapters(READER)).toMatch(
    /^smollm2-search-r1 +search-r1 from smollm2-135m-instruct-reader +HotpotQA/m,
  );
  expect(await adapters(REAL_MODEL)).toMatch(
    /seed\d +demonstrations from smollm2-135m-instruct +HotpotQA/,
  );
});

it('names a damaged adapter and lists the others', async () => {
  const damaged = join(root, 'runs', 'damaged');
  mkdirSync(damaged);
  writeFileSync(join(damaged, 'adapter_config.json'), '{');
  const complaints = captured('stderr');
  expect(await adapters(join(root, 'runs'))).toMatch(/mine\/adapter/);
  expect(complaints()).toMatch(/damaged: Expected .*adapter_config\.json to be JSON/);
  expect(process.exitCode).toBe(1);
  process.exitCode = 0;
  rmSync(damaged, { recursive: true });
});

it('reports a folder without adapters', async () => {
  await expect(adapters(join(root, 'none'))).rejects.toThrow('adapter_config.json');
});
