import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { readJson } from '../../../lib/io/files.js';
import { loadModel, saveModel } from '../../../lib/policy/folders/model-folder.js';
import { LocalPolicy } from '../../../lib/policy/local-policy.js';
import {
  numParameters,
  parseModelConfig,
  formatModelConfig,
} from '../../../lib/policy/model/families.js';
import { prefixTree } from '../../../lib/policy/model/prefix-tree.js';
import { forward, computeLogits, rotaryTable } from '../../../lib/policy/model/transformer.js';
import { createRandom } from '../../../lib/random.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { folderForEach } from '../../folder.js';
import { CONFIG, TOKENIZER, TOKENIZER_JSON } from '../../training/tiny.js';

/** A minimal Llama config.json. */
const MINIMAL = {
  model_type: 'llama',
  vocab_size: 1000,
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 8,
  max_position_embeddings: 256,
  rms_norm_eps: 1e-5,
};

const LINEAR = { rope_type: 'linear', factor: 2 };
const LLAMA3 = {
  rope_type: 'llama3',
  factor: 4,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 16,
};

const inFolder = folderForEach();
await useBackend('wasm');

/**
 * A checkpoint by `scripts/fixtures/families.py`, and what transformers computes with it.
 */
async function fixture(name: string) {
  const folder = join('test/fixtures/families', name);
  await cp(folder, inFolder(), { recursive: true });
  // Of the right vocabulary size; no text is tokenised.
  const { model } = TOKENIZER_JSON as { model: object };
  const tokenizer = {
    ...TOKENIZER_JSON,
    added_tokens: [],
    model: { ...model, vocab: { a: 0 }, merges: [] },
  };
  await writeFile(inFolder('tokenizer.json'), JSON.stringify(tokenizer));
  const expected = (await readJson(join(folder, 'expected.json'))) as Record<
    'ids' | 'greedy',
    number[]
  > & { logits: number[][] };
  return { expected, load: () => loadModel(inFolder()) };
}

describe('tiny models compared with transformers', () => {
  it.each([
    ['llama3-of-transformers-4', 64],
    ['llama3-of-transformers-5', 64],
    ['llama-linear-with-biases', 64],
    ['mistral', 32],
    ['qwen2', 64],
    ['qwen3', 64],
  ])('%s: same logits and greedy tokens within its context', async (name, maxLength) => {
    const { expected, load } = await fixture(name);
    const { config, weights } = await load();
    const policy = new LocalPolicy(name, weights, config, TOKENIZER);
    const table = rotaryTable(config, config.maxPositionEmbeddings);
    const logits = tf.tidy(() =>
      computeLogits(weights, forward(weights, prefixTree([expected.ids]), config, table), config),
    );
    const rows = (await logits.array()).filter((_, position) => position % 3 === 0);
    expect(rows).toHaveLength(expected.logits.length);
    rows.forEach((row, i) =>
      row.forEach((value, v) => expect(value).toBeCloseTo(expected.logits[i][v], 4)),
    );
    const [generation] = await policy.generate([expected.ids.slice(0, 6)], {
      temperature: 0,
      topP: 1,
      maxNewTokens: 16,
      stop: [],
      randoms: [createRandom(1)],
    });
    expect(generation.tokenIds).toEqual(expected.greedy);
    expect(policy.maxLength).toBe(maxLength);
    await saveModel(
      inFolder('again'),
      { config, weights, tokenizerJson: (await readJson(inFolder('tokenizer.json'))) as object },
      { storage: 'F32' },
    );
    const again = await loadModel(inFolder('again'));
    expect(again.config).toEqual(config);
    for (const [key, tensor] of Object.entries(weights))
      expect(again.weights[key].dataSync()).toEqual(tensor.dataSync());
  });

  it('a missing or unexpected tensor is rejected by name', async () => {
    const { load } = await fixture('llama3-of-transformers-5');
    const index = inFolder('model.safetensors.index.json');
    const text = await readFile(index, 'utf8');
    const { weight_map } = JSON.parse(text) as { weight_map: Record<string, string> };
    const without = Object.entries(weight_map).filter(([, file]) => !file.includes('-00003-'));
    await writeFile(index, JSON.stringify({ weight_map: Object.fromEntries(without) }));
    await expect(load()).rejects.toThrow(/Expected tensor \S+ of shape \[.*\], but got none/);
    await writeFile(index, JSON.stringify({ weight_map: { x: '../model.safetensors' } }));
    await expect(load()).rejects.toThrow('same folder');
    const { load: loadTied } = await fixture('qwen2');
    const config = (await readJson(inFolder('config.json'))) as object;
    await writeFile(inFolder('config.json'), JSON.stringify({ ...config, model_type: 'llama' }));
    await expect(loadTied()).rejects.toThrow('k_proj.bias');
  });
});

describe('llama', () => {
  it('round-trips through formatModelConfig', () => {
    expect(parseModelConfig(formatModelConfig(CONFIG))).toEqual(CONFIG);
    const untied = { ...CONFIG, tieWordEmbeddings: false, eosTokenIds: [5, 7], padTokenId: null };
    expect(parseModelConfig(formatModelConfig(untied))).toEqual(untied);
  });

  it("applies transformers' defaults and ignores irrelevant fields", () => {
    const ignored = { torch_dtype: 'bfloat16', bos_token_id: 1, num_key_value_heads: null };
    expect(parseModelConfig({ ...MINIMAL, ...ignored })).toMatchObject({
      numKeyValueHeads: 8,
      headDim: 8,
      rope: { theta: 10000, scaling: { rope_type: 'default' } },
      tieWordEmbeddings: false,
      eosTokenIds: [],
    });
  });

  it.each([
    ['vocab_size', 0],
    ['hidden_size', undefined],
    ['num_hidden_layers', 2 ** 31],
    ['num_attention_heads', 1e9],
    ['num_key_value_heads', 1e9],
    ['head_dim', 1e9],
    ['hidden_size', 1e9],
    ['intermediate_size', 1e9],
    ['vocab_size', 2 ** 31],
    ['max_position_embeddings', 1e12],
    ['rope_theta', Infinity],
    ['rope_scaling', { type: 'yarn', factor: 2 }],
    ['rope_scaling', { type: 'linear' }],
    ['rope_parameters', { rope_type: 'llama3', rope_theta: 5e5, factor: 8 }],
    ['rope_parameters', { full_attention: { rope_theta: 1e4, rope_type: 'default' } }],
    ['partial_rotary_factor', 0.5],
    ['hidden_act', 'gelu'],
    ['attention_bias', 'yes'],
    ['quantization_config', { quant_method: 'gptq' }],
    ['is_causal', false],
  ])('rejects %s = %j and names the field', (field, value) => {
    const parse = (): unknown => parseModelConfig({ ...MINIMAL, [field]: value });
    expect(parse).toThrow('llama');
    expect(parse).toThrow(field);
  });

  it.each([
    ['factor', { rope_scaling: LINEAR, rope_parameters: { ...LINEAR, factor: 4 } }],
    ['rope_type', { rope_scaling: LINEAR, rope_parameters: { rope_type: 'default' } }],
    ['rope_theta', { rope_theta: 1e4, rope_scaling: { ...LINEAR, rope_theta: 1e6 } }],
    ['rope_theta', { rope_theta: 1e4, rope_parameters: { rope_theta: 1e6 } }],
    [
      'original_max_position_embeddings',
      { original_max_position_embeddings: 8, rope_scaling: LLAMA3 },
    ],
  ])('rejects two values of %s: %j', (field, change) => {
    const parse = (): unknown => parseModelConfig({ ...MINIMAL, ...change });
    expect(parse).toThrow(`one ${field} among its fields`);
  });

  it.each([
    { rope_theta: 100, rope_parameters: LINEAR },
    { rope_scaling: { ...LINEAR, rope_theta: 100 } },
    { rope_theta: 100, rope_scaling: LINEAR, rope_parameters: { ...LINEAR, rope_theta: 100 } },
    { rope_theta: 100, rope_scaling: { type: 'linear', factor: 2 } },
  ])('joins rotary settings like transformers 5: %j', (change) => {
    const { rope } = parseModelConfig({ ...MINIMAL, ...change });
    expect(rope).toEqual({ theta: 100, scaling: LINEAR });
  });
});

const LONG = { max_position_embeddings: 2 ** 20 };
it.each([
  [{ num_key_value_heads: 3 }, /num_key_value_heads.*8 and 3/],
  [{ head_dim: 7 }, 'head_dim to be an even integer, but got 7'],
  [{ hidden_size: 100 }, 'head_dim to be an even integer, but got 12.5'],
  [{ ...LONG, head_dim: 130 }, 'at most 134217728, but got 136314880. Lower max_position'],
])('rejects heads of %j', (change, message) => {
  expect(() => parseModelConfig({ ...MINIMAL, ...change })).toThrow(message);
});

it('accepts a million positions at usual head widths', () => {
  const parsed = parseModelConfig({ ...MINIMAL, ...LONG, head_dim: 128 });
  expect(parsed).toMatchObject({ maxPositionEmbeddings: 2 ** 20 });
});

it('lists the model types for an unknown one', () => {
  for (const json of [
    { ...MINIMAL, model_type: 'gpt2' },
    { ...MINIMAL, model_type: ['llama'] },
    {},
    null,
  ])
    expect(() => parseModelConfig(json)).toThrow('llama, mistral, qwen2, qwen3');
});

it('numParameters counts a tied head once', () => {
  const layer = 16 * 4 * (2 * 4 + 2 * 2) + 3 * 16 * 24 + 2 * 16;
  const tied = 300 * 16 + 2 * layer + 16;
  expect(numParameters(CONFIG)).toBe(tied);
  expect(numParameters({ ...CONFIG, tieWordEmbeddings: false })).toBe(tied + 300 * 16);
});
