/** `export hf`; test/policy/engines.test.ts loads its output in other engines. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exportCommand } from '../../lib/commands/export.js';
import { runTrain } from '../../lib/commands/train.js';
import { readJson } from '../../lib/io/files.js';
import { identifyModel, readBaseModel } from '../../lib/policy/folders/adapter-base.js';
import { loadLocalPolicy } from '../../lib/policy/folders/model-folder.js';
import { createRandom } from '../../lib/random.js';
import { readSafetensors } from '../../lib/tensor/weight-files.js';
import { readTrainConfig } from '../../lib/training/models.js';
import { temporaryFolder } from '../folder.js';
import { captured, writeTinyWorld } from './tiny-world.js';

const root = temporaryFolder();
const [adapter, out, config] = ['run/adapter', 'hf', 'config.json'].map((name) => join(root, name));
const TEMPLATE = "{{ messages[0]['content'] }}:";
let model: string;
beforeAll(async () => {
  const world = await writeTinyWorld(root);
  model = world.model;
  writeFileSync(join(model, 'chat_template.jinja'), TEMPLATE);
  const lora = { rank: 2, alpha: 4 };
  const grpo = { steps: 1, questionsPerStep: 2, groupSize: 2, learningRate: 0.05, warmupSteps: 0 };
  const rollout = { prompt: 'search-r1', splitQueries: false, maxSearchTurns: 1, maxNewTokens: 10 };
  const preset = { method: 'search-r1', model, rewards: { preset: 'paper' }, lora, grpo, rollout };
  writeFileSync(config, JSON.stringify(preset));
  captured('stderr');
  await runTrain({ config, data: world.data, seed: 5, out: join(root, 'run'), backend: 'wasm' });
});
let printed: () => string;
beforeEach(() => (printed = captured('stderr')));

const run = (...words: string[]): Promise<unknown> =>
  exportCommand().parseAsync(['hf', ...words], { from: 'user' });

describe('export hf', () => {
  it('merges the adapter without changing the answers, and copies the other files', async () => {
    await run(out, '--adapter', adapter);
    expect(printed()).toContain(`${out}: ${model} with ${adapter}`);
    const [merged, apart] = [await loadLocalPolicy(out), await loadLocalPolicy(model, { adapter })];
    const contexts = ['Who?', 'Answer with search.'].map((text) => apart.tokenizer.encode(text));
    const options = {
      temperature: 0,
      topP: 1,
      maxNewTokens: 20,
      stop: [],
      randoms: contexts.map((_, i) => createRandom(i)),
    };
    expect(await merged.generate(contexts, options)).toEqual(
      await apart.generate(contexts, options),
    );
    for (const name of ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'])
      expect(readFileSync(join(out, name))).toEqual(readFileSync(join(model, name)));
    expect(await readJson(join(out, 'config.json'))).toEqual({
      ...((await readJson(join(model, 'config.json'))) as object),
      torch_dtype: 'float32',
    });
  });

  it("writes the adapter with the model's path for PEFT", async () => {
    const written = (await readJson(join(out, 'adapter', 'adapter_config.json'))) as object;
    const trained = (await readJson(join(adapter, 'adapter_config.json'))) as object;
    expect(written).toEqual({ ...trained, base_model_name_or_path: model });
    const weights = 'adapter_model.safetensors';
    expect(readFileSync(join(out, 'adapter', weights))).toEqual(
      readFileSync(join(adapter, weights)),
    );
  });

  it("keeps the adapter's base and training configuration", async () => {
    expect(await readBaseModel(adapter)).toEqual(await identifyModel(model));
    expect(await readBaseModel(join(out, 'adapter'))).toEqual(await readBaseModel(adapter));
    for (const folder of [out, adapter])
      expect(await readTrainConfig(folder)).toMatchObject({ method: 'search-r1', seed: 5 });
  });

  it('writes a model without an adapter, also in half precision', async () => {
    const half = join(root, 'half');
    await run(half, '--model', model, '--dtype', 'float16');
    expect(await readJson(join(half, 'config.json'))).toMatchObject({ torch_dtype: 'float16' });
    expect(existsSync(join(half, 'adapter'))).toBe(false);
    const sizes = [half, model].map((folder) => statSync(join(folder, 'model.safetensors')).size);
    expect(sizes[0] / sizes[1]).toBeCloseTo(0.5, 1);
    const names = [half, model].map(async (folder) => [
      ...(await readSafetensors(join(folder, 'model.safetensors'))).keys(),
    ]);
    expect(await names[0]).toEqual(await names[1]);
  });

  it('replaces an earlier export, but no other model', async () => {
    await run(out, '--adapter', adapter);
    const other = join(root, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'model.safetensors'), 'mine');
    await expect(run(other, '--adapter', adapter)).rejects.toThrow(/another model\.safetensors/);
    expect(readFileSync(join(other, 'model.safetensors'), 'utf8')).toBe('mine');
  });

  it('reports missing weights', async () => {
    await expect(run(out, '--adapter', join(root, 'none'))).rejects.toThrow(
      `Expected weights in ${root}/none, but there are none. Check the path.`,
    );
    await expect(run(out, '--model', join(root, 'none'))).rejects.toThrow(
      'a folder in Hugging Face format',
    );
  });
});
