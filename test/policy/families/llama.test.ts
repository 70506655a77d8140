import { describe, expect, it } from 'vitest';
import { numParameters, parseModelConfig, printModelConfig } from '../../../lib/policy/families/index.js';
import { CONFIG } from '../../training/tiny.js';

/** The least that a Llama config.json holds. */
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

describe('llama', () => {
  it('reads what printModelConfig prints', () => {
    expect(parseModelConfig(printModelConfig(CONFIG))).toEqual(CONFIG);
    const untied = { ...CONFIG, tieWordEmbeddings: false, eosTokenId: null, padTokenId: null };
    expect(parseModelConfig(printModelConfig(untied))).toEqual(untied);
  });

  it("fills in transformers' defaults and ignores what has no meaning here", () => {
    expect(parseModelConfig({ ...MINIMAL, torch_dtype: 'bfloat16', bos_token_id: 1 })).toMatchObject({
      numKeyValueHeads: 8,
      headDim: 8,
      ropeTheta: 10000,
      tieWordEmbeddings: false,
      eosTokenId: null,
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
    ['rope_scaling', { type: 'linear', factor: 2 }],
    ['attention_bias', true],
    ['mlp_bias', true],
  ])('refuses %s = %j and names the field', (field, value) => {
    const parse = (): unknown => parseModelConfig({ ...MINIMAL, [field]: value });
    expect(parse).toThrow('Expected the config.json of a Llama-type model');
    expect(parse).toThrow(field);
  });

  it('refuses heads that do not share their keys evenly', () => {
    expect(() => parseModelConfig({ ...MINIMAL, num_key_value_heads: 3 })).toThrow(
      'Expected num_attention_heads to be a multiple of num_key_value_heads, but got 8 and 3.',
    );
  });
});

it.each([
  ['odd', { head_dim: 7 }, 'head_dim to be an even integer, but got 7'],
  ['a fraction', { hidden_size: 100 }, 'head_dim to be an even integer, but got 12.5'],
  [
    'too large for a table of all positions',
    { max_position_embeddings: 2 ** 21, head_dim: 128 },
    'but got 4294967296. Lower max_position_embeddings.',
  ],
])('refuses heads whose width is %s', (_, change, message) => {
  expect(() => parseModelConfig({ ...MINIMAL, ...change })).toThrow(message);
});

describe('parseModelConfig', () => {
  it('lists the model types that there are', () => {
    for (const json of [{ ...MINIMAL, model_type: 'gpt2' }, {}, null])
      expect(() => parseModelConfig(json)).toThrow('Expected a model_type of llama, but got');
  });
});

describe('numParameters', () => {
  it('counts a tied head once', () => {
    const layer = 16 * 4 * (2 * 4 + 2 * 2) + 3 * 16 * 24 + 2 * 16;
    expect(numParameters(CONFIG)).toBe(300 * 16 + 2 * layer + 16);
    expect(numParameters({ ...CONFIG, tieWordEmbeddings: false })).toBe(2 * 300 * 16 + 2 * layer + 16);
  });
});
