import { decoderFamily } from './decoder.js';

/**
 * Mistral 7B and its like. Attention slides over `sliding_window` tokens, 4,096 where
 * config.json doesn't say.
 */
export const mistral = decoderFamily({
  name: 'mistral',
  architecture: 'MistralForCausalLM',
  biases: () => ({ qkv: false, o: false, mlp: false }),
  window: ({ sliding_window }) => (sliding_window === undefined ? 4096 : sliding_window),
  print: () => ({ sliding_window: null }),
});
