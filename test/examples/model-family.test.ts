import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import '../../examples/model-family.js';
import { loadModel, openPolicy, saveModel, createRandom } from '../../lib/index.js';
import { arraysFromAdapter, createAdapter, peftConfig } from '../../lib/policy/lora.js';
import { parseModelConfig } from '../../lib/policy/families/index.js';
import { parseSafetensors } from '../../lib/policy/safetensors.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { CONFIG, tinyModel } from '../training/tiny.js';

const PHI = { ...CONFIG, modelType: 'phi3' };
let folder: string;
beforeAll(async () => {
  await useBackend('wasm');
  folder = mkdtempSync(join(tmpdir(), 'family-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('examples/model-family.ts', () => {
  it('writes and reads checkpoints with the tensors of Phi-3, and answers as the same Llama does', async () => {
    const model = tinyModel();
    await saveModel(join(folder, 'phi'), { ...model, config: PHI }, { storage: 'F32' });
    await saveModel(join(folder, 'llama'), model, { storage: 'F32' });
    const names = [
      ...parseSafetensors(await readFile(join(folder, 'phi', 'model.safetensors'))).keys(),
    ].filter((name) => name.includes('layers.1.'));
    expect(names.map((name) => name.replace('model.layers.1.', ''))).toEqual([
      'input_layernorm.weight',
      'self_attn.qkv_proj.weight',
      'self_attn.o_proj.weight',
      'post_attention_layernorm.weight',
      'mlp.gate_up_proj.weight',
      'mlp.down_proj.weight',
    ]);
    expect((await loadModel(join(folder, 'phi'))).config).toEqual(PHI);
    const options = { temperature: 0, topP: 1, maxNewTokens: 8, stop: [], randoms: [createRandom(1)] };
    const [phi, llama] = await Promise.all(
      ['phi', 'llama'].map(async (name) => {
        const policy = await openPolicy(join(folder, name));
        return policy.generate([[5, 9, 200, 31]], options);
      }),
    );
    expect(phi).toEqual(llama);
  });

  it('has adapters of its own modules', async () => {
    const lora = { rank: 2, alpha: 4 };
    const adapter = createAdapter(PHI, lora, createRandom(1));
    const arrays = await arraysFromAdapter(adapter, PHI, lora);
    tf.dispose(adapter);
    const { target_modules: modules } = peftConfig(lora, { config: PHI, base: '../phi' });
    expect(modules).toEqual(['qkv_proj', 'o_proj', 'gate_up_proj', 'down_proj']);
    expect([...arrays.keys()]).toContain('base_model.model.model.layers.0.self_attn.qkv_proj.lora_A.weight');
  });

  it('refuses what it does not compute', () => {
    for (const field of [{ sliding_window: 2047 }, { partial_rotary_factor: 0.75 }])
      expect(() => parseModelConfig({ model_type: 'phi3', ...field })).toThrow('Expected a Phi-3 without');
    expect(() => parseModelConfig({ model_type: 'gpt2' })).toThrow('of llama, phi3, but got gpt2');
  });
});
