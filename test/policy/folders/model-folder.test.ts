import { readdirSync, rmSync, statSync, truncateSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readJson } from '../../../lib/io/files.js';
import { readTokenizerConfig } from '../../../lib/io/tokenizer-config.js';
import { createLimitedTokenizer } from '../../../lib/policy/folders/limited-tokenizer.js';
import { loadLocalPolicy, loadModel, saveModel } from '../../../lib/policy/folders/model-folder.js';
import { settingFiles } from '../../../lib/policy/folders/policy-folders.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { encodeSafetensors, floatToHalf, halfToFloat } from '../../../lib/tensor/safetensors.js';
import { readSafetensors } from '../../../lib/tensor/weight-files.js';
import { folderForEach } from '../../folder.js';
import { isFull } from '../../full.js';
import { CONFIG, TOKENIZER, TOKENIZER_JSON, tinyModel } from '../../training/tiny.js';

const inFolder = folderForEach();
await useBackend('wasm');

describe('saveModel and loadModel', () => {
  it('preserve config, tokenizer and weights, float32 exactly', async () => {
    const model = tinyModel();
    await saveModel(inFolder(), model, { storage: 'F32' });
    const loaded = await loadModel(inFolder());
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

  it('round to half precision on request', async () => {
    const model = tinyModel();
    await saveModel(inFolder(), model, { storage: 'F16' });
    const loaded = await loadModel(inFolder());
    const half = model.weights.embed.dataSync().map((x) => halfToFloat(floatToHalf(x)));
    expect(loaded.weights.embed.dataSync()).toEqual(half);
  });

  it('reject a folder with an adapter, which transformers would load with its base', async () => {
    await saveModel(inFolder(), tinyModel(), { storage: 'F32' });
    writeFileSync(inFolder('adapter_config.json'), '{}');
    await expect(loadModel(inFolder())).rejects.toThrow('adapter_config.json');
  });

  it("use transformers' files, names and layout", async () => {
    await saveModel(inFolder(), tinyModel(), { storage: 'F32', metadata: { seed: '3' } });
    const files = ['config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'];
    expect(readdirSync(inFolder()).sort()).toEqual(files);
    expect(await readJson(inFolder('config.json'))).toMatchObject({
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      hidden_size: 16,
      num_key_value_heads: 2,
      tie_word_embeddings: true,
    });
    const arrays = await readSafetensors(inFolder('model.safetensors'));
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

const cutOff = (file: string): void => truncateSync(file, statSync(file).size - 10);

it.each<[name: string, fault: string, damage: (file: string) => void, message: string]>([
  ['config.json', 'missing', rmSync, 'config.json'],
  ['tokenizer.json', 'missing', rmSync, 'AutoTokenizer'],
  ['model.safetensors', 'missing', rmSync, 'model.safetensors'],
  ['model.safetensors', 'cut off', cutOff, 'model.safetensors: '],
])('reports the file: %s %s', async (name, _, damage, message) => {
  const folder = inFolder('model');
  await saveModel(folder, tinyModel(), { storage: 'F16' });
  damage(join(folder, name));
  await expect(loadModel(folder)).rejects.toThrow(message);
});

it('rejects an untied lm_head if config.json ties it', async () => {
  const model = tinyModel();
  await saveModel(inFolder(), model, { storage: 'F32' });
  const arrays = await readSafetensors(inFolder('model.safetensors'));
  const embedding = arrays.get('model.embed_tokens.weight')!;
  const save = (values: Float32Array): void => {
    const all = new Map([...arrays, ['lm_head.weight', { ...embedding, values }]]);
    writeFileSync(inFolder('model.safetensors'), encodeSafetensors(all, { storage: 'F32' }));
  };
  save(embedding.values);
  await expect(loadModel(inFolder())).resolves.toBeDefined();
  save(embedding.values.map((value) => 2 * value));
  await expect(loadModel(inFolder())).rejects.toThrow(/lm_head.*tie_word_embeddings/);
});

it('lists every file of a tokenizer as a setting', async () => {
  await saveModel(inFolder(), tinyModel(), { storage: 'F16' });
  const old = ['added_tokens.json', 'special_tokens_map.json'];
  for (const name of old) writeFileSync(inFolder(name), '{}');
  expect(settingFiles(inFolder()).map((file) => basename(file))).toEqual(
    expect.arrayContaining([...old, 'tokenizer.json', 'tokenizer_config.json']),
  );
});

it('prefers special_tokens_map.json of old folders, as transformers 4 and 5', async () => {
  writeFileSync(inFolder('special_tokens_map.json'), JSON.stringify({ bos_token: '<s>' }));
  const bosToken = async (config: object) => {
    writeFileSync(inFolder('tokenizer_config.json'), JSON.stringify(config));
    return (await readTokenizerConfig(inFolder())) as { bos_token?: string };
  };
  expect(await bosToken({ bos_token: '' })).toMatchObject({ bos_token: '<s>' });
  const listed = { bos_token: '<a>', added_tokens_decoder: {} };
  expect(await bosToken(listed)).toEqual(listed);
});

describe('generation_config.json', () => {
  const load = async (settings: unknown) => {
    await saveModel(inFolder(), tinyModel(), { storage: 'F32' });
    writeFileSync(inFolder('generation_config.json'), JSON.stringify(settings));
    return loadLocalPolicy(inFolder());
  };

  it('sets the end tokens; settings that do not apply are noted', async () => {
    // As in Qwen2.5-Instruct.
    const sampling = { do_sample: true, temperature: 0.7, top_k: 20, top_p: 1 };
    const limits = { repetition_penalty: 1.05, max_new_tokens: 2048, min_length: 0 };
    const policy = await load({ eos_token_id: [7, 8], ...sampling, ...limits });
    expect(policy.config.eosTokenIds).toEqual([7, 8]);
    const unused = /not applied.*: temperature 0.7, top_k 20, repetition_penalty 1.05$/;
    expect(policy.note).toMatch(unused);
    const harmless = { _from_model_config: true, transformers_version: '5.0', use_cache: true };
    expect((await load({ eos_token_id: 9, bos_token_id: 1, ...harmless })).note).toBeUndefined();
    const others = {
      num_beams: 4,
      early_stopping: true,
      stop_strings: ['x'],
      token_healing: false,
    };
    const noted = /: num_beams 4, early_stopping true, stop_strings \["x"\]$/;
    expect((await load(others)).note).toMatch(noted);
  });

  it('is not needed for an end token; a model without one has a note', async () => {
    await saveModel(inFolder(), tinyModel(), { storage: 'F32' });
    const config = inFolder('config.json');
    const { eos_token_id: _, ...endless } = JSON.parse(readFileSync(config, 'utf8')) as {
      eos_token_id: unknown;
    };
    writeFileSync(config, JSON.stringify(endless));
    expect((await loadLocalPolicy(inFolder())).note).toContain('no eos_token_id in config.json');
    writeFileSync(inFolder('generation_config.json'), '{ "eos_token_id": 7 }');
    const policy = await loadLocalPolicy(inFolder());
    expect([policy.config.eosTokenIds, policy.note]).toEqual([[7], undefined]);
  });

  it.each([
    { suppress_tokens: [3] },
    { bad_words_ids: [[3]] },
    { min_new_tokens: 1 },
    { no_repeat_ngram_size: 1 },
    { forced_eos_token_id: 0 },
    { sequence_bias: [[[3], 1]] },
    { guidance_scale: 1.5 },
    { eos_token_id: '</s>' },
  ])('is rejected with %j', async (settings) => {
    await expect(load(settings)).rejects.toThrow(Object.keys(settings)[0]);
  });
});

it('rejects token ids beyond the vocabulary, also of added tokens', async () => {
  const folder = inFolder('model');
  const { added_tokens } = TOKENIZER_JSON as { added_tokens: object[] };
  const added = [...added_tokens, { ...added_tokens[0], content: '<new>', id: 300 }];
  const tokenizerJson = { ...TOKENIZER_JSON, added_tokens: added };
  await saveModel(folder, { ...tinyModel(), tokenizerJson }, { storage: 'F16' });
  await expect(loadModel(folder)).rejects.toThrow(
    "Expected token ids below the model's vocab_size 300, but the tokenizer has the id 300.",
  );
});

it.skipIf(!isFull)(
  'stops tokenizers that run forever, and names the file (needs test:full)',
  async () => {
    await saveModel(inFolder(), tinyModel(), { storage: 'F32' });
    const write = (name: string, json: object): void =>
      writeFileSync(inFolder(name), JSON.stringify(json));
    const Regex = '(x+)+y';
    const split = { type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false };
    write('tokenizer.json', { ...TOKENIZER_JSON, pre_tokenizer: split });
    // 60,000 iterations of 60,000: an hour.
    const loop = '{% for i in range(60000) %}{% for j in range(60000) %}{% endfor %}{% endfor %}';
    write('tokenizer_config.json', { chat_template: `${loop}{{ messages[0].content }}` });
    const { tokenizer } = await loadModel(inFolder());
    expect(tokenizer.decode(tokenizer.encode('Ada'))).toContain('Ada');
    expect(() => tokenizer.encode('x'.repeat(60))).toThrow(/tokenizer\.json.* did not end/);
    expect(() => tokenizer.encodeChat!('Ada')).toThrow(/its chat template .* did not end/);
    const vocab = { a: 0, '##a': 1, '[UNK]': 2 };
    const pieces = { continuing_subword_prefix: '##', max_input_chars_per_word: 1e9 };
    const model = { type: 'WordPiece', vocab, unk_token: '[UNK]', ...pieces };
    const steps = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };
    const wordy = createLimitedTokenizer({ ...steps, model }, {}, 'tokenizer.json');
    expect(() => wordy.encode('a'.repeat(100_000))).toThrow(/did not end/);
  },
  90_000,
);

it('rejects a chat template that is not UTF-8', async () => {
  writeFileSync(inFolder('chat_template.jinja'), Buffer.from('é', 'latin1'));
  await expect(readTokenizerConfig(inFolder())).rejects.toThrow(/chat_template.jinja.*UTF-8/);
  writeFileSync(inFolder('chat_template.jinja'), '\uFEFFé');
  expect(await readTokenizerConfig(inFolder())).toMatchObject({ chat_template: 'é' });
});
