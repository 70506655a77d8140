/**
 * A model family of one's own: Phi-3's architecture as Phi-4 uses it. It is computed as
 * a Llama is, but its checkpoints hold the query, key and value products in one tensor,
 * and gate and up as well.
 */
import { FAMILIES, type ModelFamily } from '../lib/index.js';

const llama = FAMILIES.get('llama');
/** Tensors of a layer that a checkpoint holds in one. */
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
  print: (config) => ({
    ...llama.print(config),
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

// The one line of registration. In this repository: the family's name in the list of
// lib/policy/families.ts.
FAMILIES.add(phi3);
