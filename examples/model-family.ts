/**
 * Your own model family: Phi-3's architecture as used by Phi-4. It computes as Llama
 * does, but its checkpoints fuse query, key and value into one tensor, and gate and up
 * too.
 */
import { FAMILIES, type ModelFamily } from 'parallelsearch';

const llama = FAMILIES.get('llama');
/** Fused tensors of a layer. */
const FUSED: Record<string, string> = { qkv: 'self_attn.qkv_proj', gateUp: 'mlp.gate_up_proj' };

export const phi3: ModelFamily = {
  name: 'phi3',
  parse: (json) => {
    const { sliding_window: window, partial_rotary_factor: rotated } = json as Record<
      string,
      unknown
    >;
    if (typeof window === 'number' || (rotated ?? 1) !== 1)
      throw new Error(
        'Expected a Phi-3 without sliding_window and with partial_rotary_factor 1, as Phi-4 is.',
      );
    return { ...llama.parse(json), modelType: 'phi3' };
  },
  format: (config) => ({
    ...llama.format(config),
    architectures: ['Phi3ForCausalLM'],
    model_type: 'phi3',
    sliding_window: null,
  }),
  slots: (config) =>
    llama.slots(config).map((slot) => {
      const [layer, key] = slot.key.split('.');
      if (!(key in FUSED)) return slot;
      const name = `model.layers.${layer}.${FUSED[key]}.weight`;
      return { ...slot, parts: [{ name, columns: slot.shape[1] }] };
    }),
};

// Registration. In this repository, add it to the list in lib/policy/model/families.ts.
FAMILIES.add(phi3);
