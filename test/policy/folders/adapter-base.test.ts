/** Adapters only load on the model that they were trained from. */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHECKPOINTS } from '../../../lib/io/paths.js';
import {
  identifyModel,
  readBaseModel,
  requireBase,
} from '../../../lib/policy/folders/adapter-base.js';
import { exportModel, loadLocalPolicy } from '../../../lib/policy/folders/model-folder.js';
import { readPeftConfig } from '../../../lib/policy/folders/policy-folders.js';
import { READER, REAL_MODEL } from '../../../lib/policy/folders/trained-models.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { adapterBase } from '../../../lib/training/models.js';
import { temporaryFolder } from '../../folder.js';
import { writeTinyAdapter, writeTinyModel } from '../../training/tiny-adapter.js';

const root = temporaryFolder();
const names = ['model', 'other', 'adapter', 'foreign'];
const [model, other, adapter, foreign] = names.map((name) => join(root, name));
const sha256 = (file: string): string =>
  createHash('sha256').update(readFileSync(file)).digest('hex');

await useBackend('wasm');
await writeTinyModel(model, 3);
await writeTinyModel(other, 4);
await writeTinyAdapter(adapter, model);
await writeTinyAdapter(foreign, model, { hasHashes: false });

describe('the base of an adapter', () => {
  it('is identified by the SHA-256 of its files', async () => {
    expect(await identifyModel(model)).toEqual({
      name: 'model',
      weights: sha256(join(model, 'model.safetensors')).slice(0, 12),
      tokenizer: sha256(join(model, 'tokenizer.json')).slice(0, 12),
    });
  });

  it('is the same in another folder', async () => {
    const copy = join(root, 'copy');
    cpSync(model, copy, { recursive: true });
    await expect(requireBase(adapter, copy)).resolves.toBeUndefined();
  });

  it('must have the same weights; the error suggests a remedy', async () => {
    const refused =
      /adapter was trained from, model \(weights .*other has different weights.*--model/s;
    await expect(loadLocalPolicy(other, { adapter })).rejects.toThrow(refused);
    const exported = exportModel(join(root, 'out'), { model: other, adapter }, { storage: 'F16' });
    await expect(exported).rejects.toThrow(refused);
  });

  it('must have the same tokenizer', async () => {
    const changed = join(root, 'changed');
    cpSync(model, changed, { recursive: true });
    const file = join(changed, 'tokenizer.json');
    writeFileSync(file, `${readFileSync(file, 'utf8')}\n`);
    await expect(requireBase(adapter, changed)).rejects.toThrow('different tokenizer');
  });

  it('may differ if forced, or if the adapter names no base', async () => {
    for (const options of [{ adapter, force: true }, { adapter: foreign }])
      (await loadLocalPolicy(other, options)).dispose();
  });

  it('is preserved by an export', async () => {
    const out = join(root, 'export');
    await exportModel(out, { model, adapter }, { storage: 'F16' });
    expect(await readBaseModel(join(out, 'adapter'))).toEqual(await readBaseModel(adapter));
  });

  it('is not exported where an earlier export left a chat template', async () => {
    const out = join(root, 'export');
    writeFileSync(join(out, 'chat_template.jinja'), 'old');
    const again = exportModel(out, { model, adapter }, { storage: 'F16' });
    await expect(again).rejects.toThrow(/no chat_template\.jinja.*Remove/);
  });

  it('is rejected if its file is damaged', async () => {
    const damaged = join(root, 'damaged');
    cpSync(adapter, damaged, { recursive: true });
    writeFileSync(join(damaged, 'base_model.json'), '{"name": "model", "weights": "abc"}');
    await expect(requireBase(damaged, model)).rejects.toThrow(/base_model\.json.*weights/s);
  });
});

it("an adapter's tokenizer replaces the model's, also in an export", async () => {
  const own = join(root, 'own');
  cpSync(foreign, own, { recursive: true });
  cpSync(join(model, 'tokenizer.json'), join(own, 'tokenizer.json'));
  const chat_template = '[{{ messages[0].content }}]';
  writeFileSync(join(own, 'tokenizer_config.json'), JSON.stringify({ chat_template }));
  const policy = await loadLocalPolicy(model, { adapter: own });
  expect(policy.tokenizer.encodeChat!('a').text).toBe('[a]');
  policy.dispose();
  const out = join(root, 'export-own');
  await exportModel(out, { model, adapter: own }, { storage: 'F16' });
  expect(readFileSync(join(out, 'tokenizer_config.json'), 'utf8')).toContain('messages[0]');
  // Token ids beyond the model's embeddings.
  const json = JSON.parse(readFileSync(join(model, 'tokenizer.json'), 'utf8')) as object;
  const added_tokens = [{ id: 4000, content: '<tool>' }];
  writeFileSync(join(own, 'tokenizer.json'), JSON.stringify({ ...json, added_tokens }));
  await expect(loadLocalPolicy(model, { adapter: own })).rejects.toThrow(/id 4000/);
});

it('an adapter without safetensors is named, with the remedy', async () => {
  const old = join(root, 'old');
  cpSync(foreign, old, { recursive: true });
  renameSync(join(old, 'adapter_model.safetensors'), join(old, 'adapter_model.bin'));
  await expect(loadLocalPolicy(model, { adapter: old })).rejects.toThrow('save_pretrained');
});

describe('committed adapters', () => {
  const committed = [CHECKPOINTS, REAL_MODEL, READER].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('adapter_config.json'))
      .map((file) => join(folder, file, '..')),
  );

  it('name the hashes of a base that exists', async () => {
    expect(committed.length).toBeGreaterThan(10);
    for (const folder of committed) {
      const named = await readBaseModel(folder);
      expect(named, folder).not.toBeNull();
      const base = resolve(folder, (await readPeftConfig(folder)).base!);
      if (existsSync(base)) await requireBase(folder, base);
    }
  });

  it('say how to make a missing base', async () => {
    const copy = join(root, 'real', 'adapter');
    cpSync(join(READER, 'parallelsearch-seed1'), copy, { recursive: true });
    await expect(adapterBase(copy)).rejects.toThrow('--model smollm2-parallelsearch');
    await expect(requireBase(copy, model)).rejects.toThrow('--model smollm2-parallelsearch');
  });
});
