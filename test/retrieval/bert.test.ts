import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { readJson, readJsonIfExists } from '../../lib/io/files.js';
import { packagePath } from '../../lib/io/paths.js';
import { loadBertEncoder } from '../../lib/retrieval/bert.js';
import { tryBackend } from '../../lib/tensor/backend.js';
import { encodeSafetensors } from '../../lib/tensor/safetensors.js';
import { readSafetensors } from '../../lib/tensor/weight-files.js';
import { createTokenizer } from '../../lib/text/tokenizer/tokenizer.js';
import { folderForEach } from '../folder.js';
import { cases } from '../full.js';

interface Expected {
  texts: string[];
  query: { ids: number[][]; vectors: number[][] };
  passage: { ids: number[][]; vectors: number[][] };
}

// Made by scripts/fixtures/encoders.py.
const FIXTURES = packagePath('test', 'fixtures', 'encoders');
const KINDS = ['query', 'passage'] as const;

describe.each(['wasm', 'cpu', 'native'] as const)('BERT encoders on %s', (backend) => {
  let isThere = false;
  beforeAll(async () => void (isThere = 'detail' in (await tryBackend(backend))));

  const names = ['minilm', 'multilingual-e5', 'xlm-roberta'];
  // The slowest backend: one of them, unless in full.
  it.each(names.slice(0, backend === 'cpu' ? cases(1, 3) : 3))(
    `gives the vectors of transformers, its prompts before the texts (tolerance 1e-5): %s`,
    async (name) => {
      if (!isThere) return console.log(`skipped: backend ${backend} does not load`);
      const folder = join(FIXTURES, name);
      const expected = (await readJson(join(folder, 'expected.json'))) as Expected;
      const encoder = await loadBertEncoder(folder);
      for (const kind of KINDS) {
        const before = tf.memory().numTensors;
        const vectors = await encoder.encode(expected.texts, { kind });
        expect(tf.memory().numTensors).toBe(before);
        const differences = vectors.map((vector, i) =>
          Math.max(...vector.map((value, d) => Math.abs(value - expected[kind].vectors[i][d]))),
        );
        expect(Math.max(...differences)).toBeLessThan(1e-5);
      }
      expect(encoder.dimensions).toBe(32);
      expect(await encoder.encode([], { kind: 'query' })).toEqual([]);
    },
  );
});

it.each(['minilm', 'multilingual-e5', 'xlm-roberta'])(
  '%s: same ids as transformers',
  async (name) => {
    const { texts, query } = (await readJson(join(FIXTURES, name, 'expected.json'))) as Expected;
    const json = (await readJson(join(FIXTURES, name, 'tokenizer.json'))) as object;
    const tokenizer = createTokenizer(json);
    const prompt = { minilm: '', 'multilingual-e5': 'query: ', 'xlm-roberta': 'ask: ' }[name];
    const { before, after } = tokenizer.around;
    const ids = texts.map((text) => [...before, ...tokenizer.encode(prompt + text), ...after]);
    // transformers truncates the text, but keeps the special tokens around it.
    const cut = ids.map((row, i) =>
      row.length > query.ids[i].length ? [...row.slice(0, query.ids[i].length - 1), ...after] : row,
    );
    expect(cut).toEqual(query.ids);
    expect([before.length, after.length]).toEqual([1, 1]);
  },
);

describe('loadBertEncoder', () => {
  const inFolder = folderForEach();
  const copy = (name: string): string => {
    cpSync(join(FIXTURES, name), inFolder(name), { recursive: true });
    return inFolder(name);
  };
  const write = (folder: string, name: string, json: unknown): void =>
    writeFileSync(join(folder, name), JSON.stringify(json));
  beforeAll(() => tryBackend('cpu'));

  it.each([
    ['hidden_act', 'gelu_new'],
    ['model_type', 'mpnet'],
    ['position_embedding_type', 'relative_key'],
  ])('rejects an unsupported %s', async (field, value) => {
    const folder = copy('minilm');
    const config = (await readJson(join(folder, 'config.json'))) as object;
    write(folder, 'config.json', { ...config, [field]: value });
    await expect(loadBertEncoder(folder)).rejects.toThrow(new RegExp(field));
  });

  it.each([
    ['Dense', 'modules.json', [{ path: '2_Dense', type: 'sentence_transformers.models.Dense' }]],
    [
      '0_Old',
      'modules.json',
      [{ path: '0_Old', type: 'sentence_transformers.models.Transformer' }],
    ],
    ['include_prompt', '1_Pooling/config.json', { include_prompt: false }],
    ['lasttoken', '1_Pooling/config.json', { pooling_mode: 'lasttoken' }],
    ['truncate_dim', 'config_sentence_transformers.json', { truncate_dim: 8 }],
  ])('rejects settings that would change the vectors: %s', async (name, file, json) => {
    const folder = copy('minilm');
    write(folder, file, json);
    await expect(loadBertEncoder(folder)).rejects.toThrow(name);
  });

  it('lower-cases without a tokenizer_class, as transformers, or rejects', async () => {
    const folder = copy('minilm');
    const file = join(folder, 'tokenizer.json');
    const json = (await readJson(file)) as { normalizer: object };
    Object.assign(json.normalizer, { lowercase: false });
    write(folder, 'tokenizer.json', json);
    write(folder, 'tokenizer_config.json', {});
    await expect(loadBertEncoder(folder)).rejects.toThrow('do_lower_case is false');
    write(folder, 'tokenizer_config.json', { do_lower_case: false });
    await expect(loadBertEncoder(folder)).resolves.toBeDefined();
  });

  it("does not count words with RoBERTa's padding id as positions", async () => {
    const folder = copy('xlm-roberta');
    const config = (await readJson(join(folder, 'config.json'))) as object;
    write(folder, 'config.json', { ...config, pad_token_id: 5 });
    const encoder = await loadBertEncoder(folder);
    const texts = ['a film by a film', '?'];
    const vectors = await encoder.encode(texts, { kind: 'query' });
    // By transformers 5.24. Token 5 is ▁a.
    const expected = [
      [-0.149441, 0.089661, -0.141496, 0.059814, -0.029925, -0.099742],
      [-0.153754, -0.149777, -0.217397, 0.180105, 0.004286, 0.023906],
    ];
    for (const [i, values] of expected.entries())
      for (const [d, value] of values.entries()) expect(vectors[i][d]).toBeCloseTo(value, 5);
  });

  it.each([
    ['minilm', { sep_token: { content: '[MASK]' } }, 'sep_token is "[MASK]"'],
    ['xlm-roberta', { eos_token: '<pad>' }, 'eos_token is "<pad>"'],
  ])('has the tokenizer class of its model: %s, %j', async (name, config, fault) => {
    const folder = copy(name);
    write(folder, 'tokenizer_config.json', config);
    await expect(loadBertEncoder(folder)).rejects.toThrow(fault);
    write(folder, 'tokenizer_config.json', { ...config, tokenizer_class: 'TokenizersBackend' });
    await expect(loadBertEncoder(folder)).resolves.toBeDefined();
  });

  it('rejects dot products of vectors without unit length', async () => {
    const folder = copy('minilm');
    const type = 'sentence_transformers.models.Pooling';
    write(folder, 'modules.json', [{ path: '1_Pooling', type }]);
    write(folder, 'config_sentence_transformers.json', { similarity_fn_name: 'dot' });
    await expect(loadBertEncoder(folder)).rejects.toThrow('similarity_fn_name: dot');
  });

  it("applies the folder's lower-casing", async () => {
    const folder = copy('minilm');
    const encode = async (text: string) =>
      (await loadBertEncoder(folder)).encode([text], { kind: 'passage' });
    const expected = await encode('oslo');
    write(folder, 'sentence_bert_config.json', { do_lower_case: true });
    expect(await encode('OSLO')).toEqual(expected);
  });

  it('reads prompts for queries and passages under any of their names', async () => {
    const encode = async (settings: object, kind: 'query' | 'passage', name = 'minilm') => {
      const folder = copy(name);
      write(folder, 'config_sentence_transformers.json', settings);
      return (await loadBertEncoder(folder)).encode(['oslo'], { kind });
    };
    const expected = await encode({ prompts: { query: 'find: ' } }, 'query');
    for (const prompts of [{ document: 'find: ' }, { corpus: 'find: ', query: '' }])
      expect(await encode({ prompts }, 'passage')).toEqual(expected);
    // sentence-transformers 6 applies a default prompt to neither.
    const search = { prompts: { search: 'find: ' }, default_prompt_name: 'search' };
    for (const kind of ['query', 'passage'] as const)
      expect(await encode(search, kind)).toEqual(await encode({}, kind));
    // What sentence-transformers writes for every model.
    const plain = await encode({}, 'query', 'multilingual-e5');
    const empty = { prompts: { query: '', document: '' } };
    expect(await encode(empty, 'query', 'multilingual-e5')).toEqual(plain);
    await expect(encode({ default_prompt_name: 'search' }, 'query')).rejects.toThrow(/search/);
    const where = /config_sentence_transformers\.json[^]*prompts\.query/;
    await expect(encode({ prompts: { query: null } }, 'query')).rejects.toThrow(where);
  });

  it("truncates at the tokenizer's truncation side, and rejects a limit without text", async () => {
    const folder = copy('minilm');
    write(folder, 'tokenizer_config.json', { truncation_side: 'left' });
    const encoder = await loadBertEncoder(folder);
    const texts = ['', 'bergen '].map((start) => start + 'oslo '.repeat(40));
    const [cut, longer] = await encoder.encode(texts, { kind: 'query' });
    expect(longer).toEqual(cut);
    write(folder, 'sentence_bert_config.json', { max_seq_length: 2 });
    await expect(loadBertEncoder(folder)).rejects.toThrow(/at most 2/);
  });

  it("knows E5 in the Hub's cache, and rejects an instruct model without prompts", async () => {
    const put = (name: string): string => {
      cpSync(join(FIXTURES, 'multilingual-e5'), inFolder(name), { recursive: true });
      const config = join(inFolder(name), 'config.json');
      const { _name_or_path, ...json } = JSON.parse(readFileSync(config, 'utf8')) as {
        _name_or_path?: string;
      };
      writeFileSync(config, JSON.stringify(json));
      return inFolder(name);
    };
    const encode = async (folder: string) =>
      (await loadBertEncoder(folder)).encode(['oslo'], { kind: 'query' });
    const cached = put('models--intfloat--e5-small-v2/snapshots/f52bf8ec');
    expect(await encode(cached)).toEqual(await encode(put('e5-small-v2')));
    expect(await encode(cached)).not.toEqual(await encode(put('f52bf8ec')));
    const instruct = put('multilingual-e5-large-instruct');
    await expect(encode(instruct)).rejects.toThrow('config_sentence_transformers.json');
    const prompts = { query: 'Instruct: Find.\nQuery: ', document: '' };
    write(instruct, 'config_sentence_transformers.json', { prompts });
    await expect(encode(instruct)).resolves.toHaveLength(1);
  });

  it("truncates at the side in tokenizer.json, unless the tokenizer's config names one", async () => {
    const folder = copy('minilm');
    const json = (await readJson(join(folder, 'tokenizer.json'))) as object;
    const encode = async () =>
      (await loadBertEncoder(folder)).encode(['bergen ' + 'oslo '.repeat(40)], { kind: 'query' });
    const right = await encode();
    write(folder, 'tokenizer_config.json', { truncation_side: 'left' });
    const left = await encode();
    write(folder, 'tokenizer.json', { ...json, truncation: { direction: 'Left', max_length: 9 } });
    write(folder, 'tokenizer_config.json', {});
    expect(await encode()).toEqual(left);
    write(folder, 'tokenizer_config.json', { truncation_side: 'right' });
    expect(await encode()).toEqual(right);
  });

  it.each([
    ['tokenizer_args', { model_max_length: 9 }],
    ['processor_kwargs', { truncation_side: 'left' }],
    ['query_length', 6],
    ['module_output_name', 'sentence_embedding'],
    ['modality_config', { text: { method: 'forward', method_output_name: 'pooler_output' } }],
  ])('rejects %s of sentence-transformers', async (field, value) => {
    const folder = copy('minilm');
    write(folder, 'sentence_bert_config.json', { [field]: value });
    await expect(loadBertEncoder(folder)).rejects.toThrow(field);
  });

  it('accepts what sentence-transformers 6 writes', async () => {
    const folder = copy('minilm');
    write(folder, 'sentence_bert_config.json', {
      transformer_task: 'feature-extraction',
      modality_config: { text: { method: 'forward', method_output_name: 'last_hidden_state' } },
      module_output_name: 'token_embeddings',
      tokenizer_args: {},
      query_length: null,
    });
    await expect(loadBertEncoder(folder)).resolves.toMatchObject({ name: 'minilm' });
  });

  it('rejects token ids that the embedding lacks', async () => {
    const folder = copy('minilm');
    const token = { id: 500, content: 'Hawks' };
    const json = (await readJson(join(folder, 'tokenizer.json'))) as { added_tokens: object[] };
    write(folder, 'tokenizer.json', { ...json, added_tokens: [...json.added_tokens, token] });
    await expect(loadBertEncoder(folder)).rejects.toThrow('has the id 500');
  });

  it("reads the norms' names of BERT's first checkpoints", async () => {
    const folder = copy('minilm');
    const encode = async () => (await loadBertEncoder(folder)).encode(['oslo'], { kind: 'query' });
    const expected = await encode();
    const file = join(folder, 'model.safetensors');
    const renamed = Array.from(await readSafetensors(file), ([name, array]) => {
      const [norm, part] = name.split('LayerNorm.');
      const old = { weight: 'gamma', bias: 'beta' }[part];
      return [old ? `${norm}LayerNorm.${old}` : name, array] as const;
    });
    writeFileSync(file, encodeSafetensors(new Map(renamed), { storage: 'F32' }));
    expect(await encode()).toEqual(expected);
  });

  it('rejects a cross-encoder', async () => {
    const folder = copy('minilm');
    const file = join(folder, 'model.safetensors');
    const arrays = await readSafetensors(file);
    arrays.set('classifier.bias', { shape: [1], values: new Float32Array(1) });
    writeFileSync(file, encodeSafetensors(arrays, { storage: 'F32' }));
    await expect(loadBertEncoder(folder)).rejects.toThrow('classifier.bias');
  });

  it.each([
    ['sentence_roberta_config.json', { max_seq_length: 8 }],
    ['tokenizer_config.json', { model_max_length: 8 }],
    ['tokenizer_config.json', { max_len: 8 }],
  ])('truncates to the length in %s', async (name, json) => {
    const folder = copy('minilm');
    write(folder, name, json);
    const encoder = await loadBertEncoder(folder);
    const texts = ['oslo '.repeat(7), 'oslo '.repeat(40)];
    const [cut, whole] = await encoder.encode(texts, { kind: 'query' });
    expect(whole).toEqual(cut);
  });

  it('reads only the first settings of texts that sentence-transformers would', async () => {
    const folder = copy('minilm');
    const encode = async () => (await loadBertEncoder(folder)).encode(['oslo'], { kind: 'query' });
    const expected = await encode();
    write(folder, 'sentence_albert_config.json', { max_seq_length: 3, do_lower_case: 1 });
    expect(await encode()).toEqual(expected);
  });

  it('changes its hash with added tokens', async () => {
    const folder = copy('minilm');
    const { hash } = await loadBertEncoder(folder);
    const config = await readJsonIfExists(join(folder, 'tokenizer_config.json'));
    write(folder, 'tokenizer_config.json', { ...config, additional_special_tokens: ['the'] });
    expect((await loadBertEncoder(folder)).hash).not.toBe(hash);
  });

  it('warns of a folder without a pooling', async () => {
    const folder = copy('minilm');
    const warn = vi.spyOn(console, 'error').mockReturnValue();
    await loadBertEncoder(folder);
    expect(warn).not.toHaveBeenCalled();
    rmSync(join(folder, '1_Pooling'), { recursive: true });
    rmSync(join(folder, 'modules.json'), { force: true });
    await loadBertEncoder(folder);
    expect(warn.mock.calls.join()).toContain('no 1_Pooling/config.json');
    warn.mockRestore();
  });

  it('rejects other poolings and unexpected tensors', async () => {
    const folder = copy('minilm');
    write(folder, '1_Pooling/config.json', { pooling_mode_cls_token: true });
    await expect(loadBertEncoder(folder)).rejects.toThrow('pooling_mode_cls_token');
    const types = [
      { path: '', type: 'Transformer' },
      { path: 'other', type: 'Pooling' },
    ];
    write(folder, 'modules.json', types);
    await expect(loadBertEncoder(folder)).rejects.toThrow('other/config.json');
    write(folder, 'modules.json', types.slice(0, 1));
    await expect(loadBertEncoder(folder)).rejects.toThrow('no Pooling');
    const other = copy('xlm-roberta');
    const config = (await readJson(join(other, 'config.json'))) as object;
    write(other, 'config.json', { ...config, num_hidden_layers: 1 });
    await expect(loadBertEncoder(other)).rejects.toThrow('encoder.layer.1.attention');
  });
});
