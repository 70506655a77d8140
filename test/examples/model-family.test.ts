import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import '../../examples/model-family.js';
import { loadModel, loadLocalPolicy, saveModel, createRandom } from '../../lib/index.js';
import { peftConfig } from '../../lib/policy/folders/peft.js';
import { parseModelConfig } from '../../lib/policy/model/families.js';
import { arraysFromAdapter, createAdapter } from '../../lib/policy/model/lora.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { parseSafetensors } from '../../lib/tensor/safetensors.js';
import { temporaryFolder } from '../folder.js';
import { CONFIG, tinyModel } from '../training/tiny.js';

const PHI = { ...CONFIG, modelType: 'phi3' };
const folder = temporaryFolder();
await useBackend('wasm');

describe('examples/model-family.ts', () => {
  it("reads and writes checkpoints with Phi-3's tensors, and gives the same answers as Llama", async () => {
    const model = tinyModel();
    await saveModel(join(folder, 'phi'), { ...model, config: PHI }, { storage: 'F32' });
    await saveModel(join(folder, 'llama'), model, { storage: 'F32' });
    const names = [
      ...parseSafetensors(await readFile(join(folder, 'phi', 'model.safetensors'))).keys(),
    ].filter((name) => name.includes('layers.1.'));
    expect(names.map((name) => /layers\.1\.(.+)\.weight/.exec(name)![1])).toEqual([
      'input_layernorm',
      'self_attn.qkv_proj',
      'self_attn.o_proj',
      'post_attention_layernorm',
      'mlp.gate_up_proj',
      'mlp.down_proj',
    ]);
    expect((await loadModel(join(folder, 'phi'))).config).toEqual(PHI);
    const options = {
      temperature: 0,
      topP: 1,
      maxNewTokens: 8,
      stop: [],
      randoms: [createRandom(1)],
    };
    const [phi, llama] = await Promise.all(
      ['phi', 'llama'].map(async (name) => {
        const policy = await loadLocalPolicy(join(folder, name));
        return policy.generate([[5, 9, 200, 31]], options);
      }),
    );
    expect(phi).toEqual(llama);
  });

  it('supports adapters of its own modules', async () => {
    const lora = { rank: 2, alpha: 4 };
    const adapter = createAdapter(PHI, lora, createRandom(1));
    const arrays = await arraysFromAdapter(adapter, PHI, lora);
    tf.dispose(adapter);
    const { target_modules: modules } = peftConfig(lora, { config: PHI, base: '../phi' });
    expect(modules).toEqual(['qkv_proj', 'o_proj', 'gate_up_proj', 'down_proj']);
    expect([...arrays.keys()]).toContain(
      'base_model.model.model.layers.0.self_attn.qkv_proj.lora_A.weight',
    );
  });

  it('rejects unsupported settings', () => {
    for (const field of [{ sliding_window: 2047 }, { partial_rotary_factor: 0.75 }])
      expect(() => parseModelConfig({ model_type: 'phi3', ...field })).toThrow(
        'Expected a Phi-3 without',
      );
    expect(() => parseModelConfig({ model_type: 'gpt2' })).toThrow(
      'of llama, mistral, qwen2, qwen3, phi3, but got gpt2',
    );
  });
});
