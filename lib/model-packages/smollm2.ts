import type { NamedArray } from '../tensor/safetensors.js';
import type { GgufFile } from './gguf.js';
import { specialToken, type FolderContents } from './hugging-face.js';

/** llama.cpp's names of a layer's tensors, and Hugging Face's. */
const NAMES: Readonly<Record<string, string>> = {
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_output: 'self_attn.o_proj',
  ffn_gate: 'mlp.gate_proj',
  ffn_up: 'mlp.up_proj',
  ffn_down: 'mlp.down_proj',
  attn_norm: 'input_layernorm',
  ffn_norm: 'post_attention_layernorm',
};

function hubName(name: string): string {
  const [block, i, part] = name.split('.');
  if (block === 'blk') return `model.layers.${i}.${NAMES[part]}.weight`;
  return block === 'token_embd' ? 'model.embed_tokens.weight' : 'model.norm.weight';
}

/**
 * Rows of each head: GGUF has the two of a rotary pair side by side, Hugging Face half a
 * head apart.
 */
export function untangleHeads({ shape, values }: NamedArray, numHeads: number): NamedArray {
  const [rows, width] = shape;
  const headDim = rows / numHeads;
  const untangled = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    const at = row % headDim;
    const from = row - at + (at < headDim / 2 ? 2 * at : 2 * (at - headDim / 2) + 1);
    untangled.set(values.subarray(from * width, (from + 1) * width), row * width);
  }
  return { shape, values: untangled };
}

/** What marks a token as a control token in `tokenizer.ggml.token_type`. */
const CONTROL = 3;

/** A Llama model with SmolLM2's tokenizer, as a GGUF file has it. */
export function smollm2Contents({ metadata, tensors }: GgufFile): FolderContents {
  const get = <T>(key: string): T => metadata.get(key) as T;
  const size = (key: string): number => get(`llama.${key}`);
  const [numHeads, numKeyValueHeads] = [
    size('attention.head_count'),
    size('attention.head_count_kv'),
  ];
  const tokens = get<string[]>('tokenizer.ggml.tokens');
  const types = get<number[]>('tokenizer.ggml.token_type');
  const [begin, end] = ['bos', 'eos'].map((name) => get<number>(`tokenizer.ggml.${name}_token_id`));
  const byteLevel = {
    type: 'ByteLevel',
    add_prefix_space: false,
    trim_offsets: true,
    use_regex: true,
  };
  const numHeadsOf: Readonly<Record<string, number>> = {
    attn_q: numHeads,
    attn_k: numKeyValueHeads,
  };
  return {
    config: {
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      vocab_size: tokens.length,
      hidden_size: size('embedding_length'),
      intermediate_size: size('feed_forward_length'),
      num_hidden_layers: size('block_count'),
      num_attention_heads: numHeads,
      num_key_value_heads: numKeyValueHeads,
      head_dim: size('embedding_length') / numHeads,
      hidden_act: 'silu',
      max_position_embeddings: size('context_length'),
      // Stored as 4 bytes.
      rms_norm_eps: Number(size('attention.layer_norm_rms_epsilon').toPrecision(6)),
      rope_theta: size('rope.freq_base'),
      tie_word_embeddings: true,
      attention_bias: false,
      mlp_bias: false,
      bos_token_id: begin,
      eos_token_id: end,
      pad_token_id: end,
      torch_dtype: 'float16',
    },
    tokenizer: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: tokens.flatMap((token, id) =>
        types[id] === CONTROL ? [specialToken(id, token)] : [],
      ),
      normalizer: null,
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [{ type: 'Digits', individual_digits: true }, byteLevel],
      },
      post_processor: null,
      decoder: byteLevel,
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: false,
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges: get<string[]>('tokenizer.ggml.merges'),
      },
    },
    tokenizerConfig: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      bos_token: tokens[begin],
      eos_token: tokens[end],
      pad_token: tokens[end],
      unk_token: tokens[0],
      clean_up_tokenization_spaces: false,
      model_max_length: size('context_length'),
      chat_template: get<string>('tokenizer.chat_template'),
    },
    tensors: tensors.map(({ name, read }) => {
      const heads = numHeadsOf[name.split('.')[2]];
      return { name: hubName(name), read: heads ? () => untangleHeads(read(), heads) : read };
    }),
  };
}
