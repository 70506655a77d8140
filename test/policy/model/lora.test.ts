import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parsePeftConfig, peftConfig } from '../../../lib/policy/folders/peft.js';
import {
  arraysFromAdapter,
  createAdapter,
  disposeMerged,
  mergeAdapter,
  mergePeftArrays,
} from '../../../lib/policy/model/lora.js';
import { prefixTree } from '../../../lib/policy/model/prefix-tree.js';
import { forward, computeLogits, rotaryTable } from '../../../lib/policy/model/transformer.js';
import {
  arraysFromWeights,
  disposeWeights,
  type Weights,
} from '../../../lib/policy/model/weights.js';
import { createRandom } from '../../../lib/random.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { CONFIG, tinyModel } from '../../training/tiny.js';

const LORA = { rank: 3, alpha: 6 };
let base: Weights;
await useBackend('wasm');
const table = rotaryTable(CONFIG, 16);
beforeEach(() => {
  base = tinyModel().weights;
});
afterEach(() => disposeWeights(base));

function logits(weights: Weights): Float32Array {
  return tf.tidy(() => {
    const hidden = forward(weights, prefixTree([[5, 9, 77, 140]]), CONFIG, table);
    return computeLogits(weights, hidden, CONFIG).dataSync<'float32'>();
  });
}

const apart = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Math.max(...Array.from(a, (x, i) => Math.abs(x - b[i])));

/** An adapter with normal B, as if trained. */
function trainedAdapter(): Weights {
  const random = createRandom('trained');
  return Object.fromEntries(
    Object.entries(createAdapter(CONFIG, LORA, createRandom(1))).map(([key, t]) => {
      if (!key.endsWith('.B')) return [key, t];
      const values = Array.from({ length: t.size }, () => 0.3 * random.normal());
      t.dispose();
      return [key, tf.tensor(values, t.shape)];
    }),
  );
}

describe('a fresh adapter', () => {
  it('leaves the logits exactly unchanged', () => {
    const merged = mergeAdapter(base, createAdapter(CONFIG, LORA, createRandom(1)), LORA);
    expect(logits(merged)).toEqual(logits(base));
  });

  it('has A and B for every matrix, but not for gains and embeddings', () => {
    const adapter = createAdapter(CONFIG, LORA, createRandom(1));
    const matrices = Object.keys(base).filter((key) => /\.(qkv|o|gateUp|down)$/.test(key));
    const names = matrices.flatMap((key) => [`${key}.A`, `${key}.B`]);
    expect(Object.keys(adapter).sort()).toEqual(names.sort());
    for (const key of matrices) {
      expect(adapter[`${key}.A`].shape).toEqual([base[key].shape[0], LORA.rank]);
      expect(adapter[`${key}.B`].shape).toEqual([LORA.rank, base[key].shape[1]]);
      expect(tf.max(tf.abs(adapter[`${key}.A`])).dataSync()[0]).toBeGreaterThan(0);
    }
  });

  it('is deterministic for a seed', () => {
    const [a, b] = [1, 1].map((seed) => createAdapter(CONFIG, LORA, createRandom(seed)));
    for (const key of Object.keys(a)) expect(a[key].dataSync()).toEqual(b[key].dataSync());
  });
});

describe('a matrix stored transposed, as on the native backend', () => {
  it('gives the same logits, merged logits and checkpoint', async () => {
    const other = Object.fromEntries(
      Object.entries(base).map(([key, t]) => [key, key.endsWith('.gateUp') ? tf.transpose(t) : t]),
    );
    const adapter = trainedAdapter();
    const arrays = await arraysFromAdapter(adapter, CONFIG, LORA);
    const merges = [
      (weights: Weights) => weights,
      (weights: Weights) => mergeAdapter(weights, adapter, LORA),
      (weights: Weights) => mergePeftArrays(weights, arrays, CONFIG, LORA),
    ];
    for (const merge of merges) {
      expect(apart(logits(merge(other)), logits(merge(base)))).toBeLessThan(1e-5);
      const [expected, same] = await Promise.all(
        [other, base].map((w) => arraysFromWeights(merge(w), CONFIG)),
      );
      for (const [name, { shape, values }] of same) {
        expect(expected.get(name)!.shape, name).toEqual(shape);
        expect(apart(expected.get(name)!.values, values), name).toBeLessThan(1e-5);
      }
    }
  });
});

describe('target modules', () => {
  it('are the only ones with an adapter', async () => {
    const lora = { ...LORA, targetModules: ['q_proj', 'k_proj', 'v_proj', 'down_proj'] };
    const adapter = createAdapter(CONFIG, lora, createRandom(1));
    const keys = new Set(Object.keys(adapter).map((key) => key.replace(/^\d+\.|\.[AB]$/g, '')));
    expect([...keys]).toEqual(['qkv', 'down']);
    const modules = [...(await arraysFromAdapter(adapter, CONFIG, lora)).keys()].map((name) =>
      name.split('.').at(-3),
    );
    expect(new Set(modules)).toEqual(new Set(lora.targetModules));
    expect(logits(mergeAdapter(base, adapter, lora))).toEqual(logits(base));
  });

  it.each([
    [['q_proj', 'o_proj'], /all of q_proj, k_proj, v_proj/],
    [['qkv_proj'], /down_proj, but got qkv_proj/],
  ])('are rejected if they cannot be trained: %j', (targetModules, message) => {
    const create = () => createAdapter(CONFIG, { ...LORA, targetModules }, createRandom(1));
    expect(create).toThrow(message);
  });
});

describe('layers to transform', () => {
  it('are the only ones with an adapter, in training and in PEFT', async () => {
    const lora = { ...LORA, layersToTransform: [1] };
    const adapter = createAdapter(CONFIG, lora, createRandom(1));
    expect(new Set(Object.keys(adapter).map((key) => key.split('.')[0]))).toEqual(new Set(['1']));
    const arrays = await arraysFromAdapter(adapter, CONFIG, lora);
    expect([...arrays.keys()].every((name) => name.includes('.layers.1.'))).toBe(true);
    const merged = mergePeftArrays(base, arrays, CONFIG, lora);
    expect(logits(merged)).toEqual(logits(mergeAdapter(base, adapter, lora)));
    expect(merged['0.qkv']).toBe(base['0.qkv']);
  });

  it('are rejected if the model has fewer', () => {
    expect(() =>
      createAdapter(CONFIG, { ...LORA, layersToTransform: [0, 2] }, createRandom(1)),
    ).toThrow(/0 to 1.*got 2/);
  });
});

describe('mergeAdapter', () => {
  it('adds alpha / rank * A B to the matrices within 1e-5 and shares the rest', () => {
    const adapter = trainedAdapter();
    const merged = mergeAdapter(base, adapter, LORA);
    const update = tf.matMul(adapter['0.o.A'], adapter['0.o.B']);
    const expected = tf.add(base['0.o'], tf.mul(2, update));
    expect(apart(merged['0.o'].dataSync(), expected.dataSync())).toBeLessThan(1e-5);
    expect(merged.embed).toBe(base.embed);
    expect(apart(logits(merged), logits(base))).toBeGreaterThan(0.01);
  });

  it('is disposed of without the base', () => {
    const adapter = trainedAdapter();
    const before = tf.memory().numTensors;
    const merged = tf.tidy(() => mergeAdapter(base, adapter, LORA));
    disposeMerged(merged, base);
    expect(tf.memory().numTensors).toBe(before);
    expect(base['0.o'].isDisposed).toBe(false);
  });
});

describe("PEFT's arrays", () => {
  it('merge to the same weights as the adapter, within 1e-5', async () => {
    const adapter = trainedAdapter();
    const arrays = await arraysFromAdapter(adapter, CONFIG, LORA);
    const expected = mergeAdapter(base, adapter, LORA);
    const before = tf.memory().numTensors;
    const merged = mergePeftArrays(base, arrays, CONFIG, LORA);
    for (const key of Object.keys(base)) {
      expect(apart(merged[key].dataSync(), expected[key].dataSync()), key).toBeLessThan(1e-5);
    }
    disposeMerged(merged, base);
    expect(tf.memory().numTensors).toBe(before);
  });

  it("have PEFT's names and layout: W + scale * B A for each Hugging Face module, within 1e-5", async () => {
    const adapter = trainedAdapter();
    const arrays = await arraysFromAdapter(adapter, CONFIG, LORA);
    const [old, merged] = await Promise.all(
      [base, mergeAdapter(base, adapter, LORA)].map((weights) =>
        arraysFromWeights(weights, CONFIG),
      ),
    );
    const modules = [...old.keys()].filter((name) => name.includes('_proj'));
    expect(arrays.size).toBe(2 * modules.length);
    for (const name of modules) {
      const side = (letter: string): tf.Tensor2D => {
        const { shape, values } = arrays.get(
          `base_model.model.${name.replace('.weight', '')}.lora_${letter}.weight`,
        )!;
        return tf.tensor2d(values, shape as [number, number]);
      };
      const expected = tf.add(
        tf.tensor(old.get(name)!.values, old.get(name)!.shape),
        tf.mul(2, tf.matMul(side('B'), side('A'))),
      );
      expect(apart(merged.get(name)!.values, expected.dataSync()), name).toBeLessThan(1e-5);
    }
  });

  const columnsOf = (weights: Weights, from: number, count: number) =>
    tf.slice(weights['0.qkv'], [0, from], [16, count]).dataSync();

  it('may use one A per module', async () => {
    const arrays = await arraysFromAdapter(trainedAdapter(), CONFIG, LORA);
    const name = 'base_model.model.model.layers.0.self_attn.k_proj.lora_A.weight';
    const separate = new Map(arrays).set(name, { shape: [3, 16], values: new Float32Array(48) });
    const merged = mergePeftArrays(base, separate, CONFIG, LORA);
    expect(apart(columnsOf(merged, 16, 8), columnsOf(base, 16, 8))).toBe(0);
    expect(apart(columnsOf(merged, 0, 16), columnsOf(base, 0, 16))).toBeGreaterThan(0.01);
  });

  it('leave other modules unchanged, also within a fused matrix', async () => {
    const arrays = await arraysFromAdapter(trainedAdapter(), CONFIG, LORA);
    const partial = new Map([...arrays].filter(([name]) => /\.[qv]_proj\./.test(name)));
    const lora = { ...LORA, targetModules: ['q_proj', 'v_proj'] };
    const merged = mergePeftArrays(base, partial, CONFIG, lora);
    const all = mergePeftArrays(base, arrays, CONFIG, LORA);
    expect(apart(columnsOf(merged, 0, 16), columnsOf(all, 0, 16))).toBe(0);
    expect(apart(columnsOf(merged, 16, 8), columnsOf(base, 16, 8))).toBe(0);
    expect(apart(columnsOf(merged, 24, 8), columnsOf(all, 24, 8))).toBe(0);
    expect(merged['0.down']).toBe(base['0.down']);
  });

  it('adapt the modules that have weights, if the config only has patterns or paths', async () => {
    const arrays = await arraysFromAdapter(trainedAdapter(), CONFIG, LORA);
    const partial = new Map([...arrays].filter(([name]) => /layers\.1\..*[qv]_proj\./.test(name)));
    const merged = mergePeftArrays(base, partial, CONFIG, LORA);
    const [all, alone] = [mergePeftArrays(base, arrays, CONFIG, LORA), base].map((weights) =>
      weights['1.qkv'].dataSync(),
    );
    const [, columns] = base['1.qkv'].shape as [number, number];
    merged['1.qkv'].dataSync().forEach((value, i) => {
      const isKey = i % columns >= 16 && i % columns < 24;
      expect(value).toBe((isKey ? alone : all)[i]);
    });
    expect(apart(merged['0.qkv'].dataSync(), base['0.qkv'].dataSync())).toBe(0);
    expect(() => mergePeftArrays(base, new Map(), CONFIG, LORA)).toThrow('there are none');
  });

  it('reject a tensor that is missing or of another shape', async () => {
    const arrays = await arraysFromAdapter(trainedAdapter(), CONFIG, LORA);
    const name = 'base_model.model.model.layers.1.mlp.up_proj.lora_B.weight';
    const without = new Map([...arrays].filter(([key]) => key !== name));
    expect(() => mergePeftArrays(base, without, CONFIG, LORA)).toThrow(name);
    const merge = () => mergePeftArrays(base, arrays, CONFIG, { ...LORA, rank: 2 });
    expect(merge).toThrow(/lora_B.weight .*16, 2.*16, 3/);
    const more = new Map(arrays).set('lm_head.lora_A', { shape: [0], values: new Float32Array() });
    expect(() => mergePeftArrays(base, more, CONFIG, LORA)).toThrow('lm_head.lora_A');
  });
});

describe('parsePeftConfig', () => {
  it('parses the output of peftConfig and names missing fields', () => {
    const targetModules = ['o_proj', 'down_proj'];
    const config = peftConfig({ ...LORA, targetModules }, { config: CONFIG, base: '../base' });
    expect(parsePeftConfig(config)).toEqual({ ...LORA, targetModules, base: '../base' });
    const upper = { ...LORA, layersToTransform: [1] };
    const again = parsePeftConfig(peftConfig(upper, { config: CONFIG, base: '../base' }));
    expect(again).toMatchObject(upper);
    const plain = { r: 4, lora_alpha: 8 };
    const read = { rank: 4, alpha: 8, base: undefined };
    expect(parsePeftConfig({ ...plain, layers_to_transform: 1 })).toEqual({
      ...read,
      layersToTransform: [1],
    });
    // The weights tell which modules they mean.
    for (const target_modules of ['all-linear', '.*_proj', ['o_proj', 'layers.1.mlp.up_proj']])
      expect(parsePeftConfig({ ...plain, target_modules })).toEqual(read);
    const excluding = { target_modules: ['o_proj', 'q_proj'], exclude_modules: ['layers.0.mlp'] };
    expect(parsePeftConfig({ ...plain, ...excluding })).toEqual(read);
    expect(() => parsePeftConfig({ r: 4 })).toThrow('lora_alpha');
  });

  it.each([
    ['r', { r: 0 }],
    ['r', { r: 1.5 }],
    ['lora_alpha', { lora_alpha: -1 }],
    ['lora_alpha', { lora_alpha: Infinity }],
    ['use_rslora', { use_rslora: true }],
    ['use_dora', { use_dora: true }],
    ['peft_type', { peft_type: 'IA3' }],
    ['bias', { bias: 'all' }],
    ['init_lora_weights', { init_lora_weights: 'pissa_niter_4' }],
    ['layers_pattern', { layers_to_transform: [0], layers_pattern: 'h' }],
    ['layers_pattern', { layers_to_transform: [0], layers_pattern: ['layers', 'h'] }],
  ])('rejects unsupported settings: %s', (field, change) => {
    expect(() => parsePeftConfig({ r: 4, lora_alpha: 8, ...change })).toThrow(`at ${field}`);
  });

  it('rejects unknown fields unless they are unset', () => {
    const unset = {
      alpha_pattern: {},
      modules_to_save: null,
      exclude_modules: [],
      lora_bias: false,
      layers_pattern: 'layers',
    };
    const harmless = { peft_version: '0.18.0', lora_dropout: 0.1, eva_config: { rho: 2 } };
    const config = { r: 4, lora_alpha: 8, ...unset, ...harmless };
    expect(parsePeftConfig(config)).toMatchObject({ rank: 4, alpha: 8 });
    for (const change of [
      { alpha_pattern: { q_proj: 64 } },
      { rank_pattern: { q_proj: 8 } },
      { modules_to_save: ['lm_head'] },
      { layer_replication: [[0, 4]] },
      { fan_in_fan_out: true },
      // These have defaults.
      { arrow_config: {} },
      { kasa_config: {} },
      { use_bdlora: {} },
      { invented_in_2030: 1 },
    ])
      expect(() => parsePeftConfig({ ...config, ...change })).toThrow(Object.keys(change)[0]);
  });
});

describe('peftConfig', () => {
  it('lists rank, alpha and the adapted modules', async () => {
    const config = peftConfig(LORA, { config: CONFIG, base: '../base' });
    expect(config).toMatchObject({
      peft_type: 'LORA',
      r: 3,
      lora_alpha: 6,
      base_model_name_or_path: '../base',
      bias: 'none',
    });
    const names = [...(await arraysFromAdapter(trainedAdapter(), CONFIG, LORA)).keys()];
    const modules = new Set(names.map((name) => /\.(\w+)\.lora_/.exec(name)![1]));
    expect([...modules].sort()).toEqual([...(config.target_modules as string[])].sort());
  });
});
