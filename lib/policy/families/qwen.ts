import { decoderFamily, type DecoderFields } from './decoder.js';

const window = ({ use_sliding_window, sliding_window }: DecoderFields): number | null =>
  use_sliding_window ? (sliding_window ?? 4096) : null;

/** Qwen2 and Qwen2.5: biases of the query, key and value products. */
export const qwen2 = decoderFamily({
  name: 'qwen2',
  architecture: 'Qwen2ForCausalLM',
  biases: () => ({ qkv: true, o: false, mlp: false }),
  window,
  print: () => ({ use_sliding_window: false }),
});

/** Qwen3: norms of queries and keys. */
export const qwen3 = decoderFamily({
  name: 'qwen3',
  architecture: 'Qwen3ForCausalLM',
  biases: ({ attention_bias }) => ({ qkv: attention_bias, o: attention_bias, mlp: false }),
  qkNorm: true,
  window,
  print: ({ biases }) => ({ attention_bias: biases.qkv, use_sliding_window: false }),
});
