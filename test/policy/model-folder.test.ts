import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadModel, readSafetensors, saveModel } from '../../lib/policy/model-folder.js';
import { readJson, writeFileSafely } from '../../lib/io/files.js';
import { halfToFloat, floatToHalf } from '../../lib/policy/safetensors.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { CONFIG, TOKENIZER, TOKENIZER_JSON, tinyModel } from '../training/tiny.js';

let root: string;
let folder: string;
let number = 0;
beforeAll(async () => {
  await useBackend('wasm');
  root = await mkdtemp(join(tmpdir(), 'model-'));
});
beforeEach(() => {
  folder = join(root, `${number++}`);
});
afterAll(() => rm(root, { recursive: true, force: true }));

describe('saveModel and loadModel', () => {
  it('keep config, tokenizer and weights, bit by bit in float32', async () => {
    const model = tinyModel();
    await saveModel(folder, model, { storage: 'F32' });
    const loaded = await loadModel(folder);
    expect(loaded.config).toEqual(CONFIG);
    expect(loaded.tokenizerJson).toEqual(TOKENIZER_JSON);
    const text = '<search> Ada Stone ## Bo Reed </search>';
    expect(loaded.tokenizer.encode(text)).toEqual(TOKENIZER.encode(text));
    expect(Object.keys(loaded.weights)).toEqual(Object.keys(model.weights));
    for (const [key, tensor] of Object.entries(model.weights)) {
      expect(loaded.weights[key].shape).toEqual(tensor.shape);
      expect(loaded.weights[key].dataSync(), key).toEqual(tensor.dataSync());
    }
  });

  it('round to half precision when asked', async () => {
    const model = tinyModel();
    await saveModel(folder, model, { storage: 'F16' });
    const loaded = await loadModel(folder);
    const half = model.weights.embed.dataSync().map((x) => halfToFloat(floatToHalf(x)));
    expect(loaded.weights.embed.dataSync()).toEqual(half);
  });

  it("write transformers' files, names and layout", async () => {
    await saveModel(folder, tinyModel(), { storage: 'F32', metadata: { seed: '3' } });
    expect((await readdir(folder)).sort()).toEqual([
      'config.json',
      'model.safetensors',
      'tokenizer.json',
      'tokenizer_config.json',
    ]);
    expect(await readJson(join(folder, 'config.json'))).toMatchObject({
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      hidden_size: 16,
      num_key_value_heads: 2,
      tie_word_embeddings: true,
    });
    const arrays = await readSafetensors(join(folder, 'model.safetensors'));
    const shapes = Object.fromEntries([...arrays].map(([name, { shape }]) => [name, shape]));
    expect(shapes).toMatchObject({
      'model.embed_tokens.weight': [300, 16],
      'model.layers.0.self_attn.q_proj.weight': [16, 16],
      'model.layers.0.self_attn.k_proj.weight': [8, 16],
      'model.layers.1.mlp.gate_proj.weight': [24, 16],
      'model.layers.1.mlp.down_proj.weight': [16, 24],
      'model.layers.1.post_attention_layernorm.weight': [16],
      'model.norm.weight': [16],
    });
    expect(shapes).not.toHaveProperty(['lm_head.weight']);
  });
});

describe('errors name the file', () => {
  it.each(['config.json', 'tokenizer.json', 'model.safetensors'])('%s that is missing', async (name) => {
    await saveModel(folder, tinyModel(), { storage: 'F16' });
    await rm(join(folder, name));
    await expect(loadModel(folder)).rejects.toThrow(name);
  });

  it('JSON that is none', async () => {
    await saveModel(folder, tinyModel(), { storage: 'F16' });
    await writeFile(join(folder, 'config.json'), '{"model_type": ');
    await expect(loadModel(folder)).rejects.toThrow(
      `Expected ${join(folder, 'config.json')} to be JSON, but`,
    );
  });

  it('weights that are cut off', async () => {
    await saveModel(folder, tinyModel(), { storage: 'F16' });
    const path = join(folder, 'model.safetensors');
    await writeFile(path, (await readFile(path)).subarray(0, -10));
    await expect(loadModel(folder)).rejects.toThrow(`${path}: Expected `);
  });
});

describe('writeFileSafely', () => {
  it('makes folders, replaces the file and leaves nothing aside', async () => {
    const path = join(folder, 'deep', 'x.txt');
    await writeFileSafely(path, 'one');
    await writeFileSafely(path, 'two');
    expect(await readFile(path, 'utf8')).toBe('two');
    expect(await readdir(join(folder, 'deep'))).toEqual(['x.txt']);
  });

  it('leaves nothing aside when it fails', async () => {
    const path = join(folder, 'taken');
    await mkdir(join(path, 'x'), { recursive: true });
    await expect(writeFileSafely(path, 'one')).rejects.toThrow();
    expect(await readdir(folder)).toEqual(['taken']);
  });
});
