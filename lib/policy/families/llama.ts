import { decoderFamily } from './decoder.js';

/** Llama 2 and 3, SmolLM, and the small models of this project. */
export const llama = decoderFamily({
  name: 'llama',
  architecture: 'LlamaForCausalLM',
  biases: ({ attention_bias, mlp_bias }) => ({
    qkv: attention_bias,
    o: attention_bias,
    mlp: mlp_bias,
  }),
  print: ({ biases }) => ({ attention_bias: biases.qkv, mlp_bias: biases.mlp }),
});
