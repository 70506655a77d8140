"""A Llama model with LoRA that fits one GPU: training in one pass, generation with a static cache and CUDA graphs.

Weights are read from a folder in Hugging Face format; adapters are written in PEFT format.
"""

import json
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

MODULES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
_BLOCK = {name: "self_attn" if name in MODULES[:4] else "mlp" for name in MODULES}
# Number of tokens between checks whether every row has stopped.
_STRIDE = 16


class Llama(torch.nn.Module):
    """Frozen weights in float32 and a trainable adapter on all matrices of the blocks."""

    def __init__(self, folder, *, rank, alpha, device, seed=1):
        super().__init__()
        config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        if config["model_type"] != "llama" or config.get("rope_scaling") or config.get("attention_bias"):
            raise ValueError(f"Expected a Llama model without RoPE scaling and biases, but {folder} is a {config['model_type']}.")
        self.heads, self.kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        self.head_dim = config.get("head_dim") or config["hidden_size"] // self.heads
        self.num_layers, self.eps = config["num_hidden_layers"], config["rms_norm_eps"]
        self.rank, self.alpha, self.device = rank, alpha, torch.device(device)
        self.weights = {}
        for file in sorted(Path(folder).glob("*.safetensors")):
            self.weights |= {name: tensor.to(device, torch.float32) for name, tensor in load_file(file).items()}
        self.weights.setdefault("lm_head.weight", self.weights["model.embed_tokens.weight"])
        theta = config.get("rope_theta") or config["rope_parameters"]["rope_theta"]
        rates = theta ** (-torch.arange(0, self.head_dim, 2, dtype=torch.float64) / self.head_dim)
        angles = torch.outer(torch.arange(config["max_position_embeddings"], dtype=torch.float64), rates).float()
        self.cos, self.sin = (torch.cat((f(angles), f(angles)), -1).to(device) for f in (torch.cos, torch.sin))
        generator = torch.Generator().manual_seed(seed)
        self.lora = torch.nn.ParameterDict()
        for name in self.adapted():
            rows, columns = self.weights[f"{name}.weight"].shape
            a = (torch.rand(rank, columns, generator=generator) * 2 - 1) / columns**0.5
            self.lora[_key(name, "A")] = torch.nn.Parameter(a.to(device))
            self.lora[_key(name, "B")] = torch.nn.Parameter(torch.zeros(rows, rank, device=device))
        # For generation: the weights with the adapter merged in, at fixed addresses for the CUDA graphs.
        self.merged = {name: self.weights[f"{name}.weight"].clone() for name in self.adapted()}
        self._graphs, self._cache = {}, None

    def adapted(self):
        return [f"model.layers.{i}.{_BLOCK[m]}.{m}" for i in range(self.num_layers) for m in MODULES]

    @torch.no_grad()
    def merge(self):
        """Updates the weights for generation from the adapter."""
        for name, merged in self.merged.items():
            torch.addmm(
                self.weights[f"{name}.weight"],
                self.lora[_key(name, "B")],
                self.lora[_key(name, "A")],
                alpha=self.alpha / self.rank,
                out=merged,
            )

    @torch.no_grad()
    def fold(self, folder):
        """Merges an adapter into the frozen weights, and rounds them to float16, as the library stores them."""
        config, tensors = _read_adapter(folder)
        for name, (a, b) in tensors.items():
            weight = self.weights[f"{name}.weight"]
            merged = weight + (config["lora_alpha"] / config["r"]) * (b.float() @ a.float()).to(weight.device)
            self.weights[f"{name}.weight"] = merged.half().float()
        self.merge()

    def save_adapter(self, folder, base):
        """Writes PEFT's files with float16 weights."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        tensors = {
            f"base_model.model.{name}.lora_{part}.weight": self.lora[_key(name, part)].detach().half().contiguous().cpu()
            for name in self.adapted()
            for part in "AB"
        }
        save_file(tensors, Path(folder) / "adapter_model.safetensors", {"format": "pt"})
        config = {
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": str(base),
            "r": self.rank,
            "lora_alpha": self.alpha,
            "lora_dropout": 0.0,
            "bias": "none",
            "target_modules": list(MODULES),
        }
        (Path(folder) / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")

    @torch.no_grad()
    def load_adapter(self, folder):
        for name, (a, b) in _read_adapter(folder)[1].items():
            self.lora[_key(name, "A")].copy_(a)
            self.lora[_key(name, "B")].copy_(b)
        self.merge()

    def _weight(self, name, lora):
        """A matrix with the adapter: `on` (differentiable), `merged` (as kept for generation), or `off`."""
        if lora == "merged":
            return self.merged[name]
        weight = self.weights[f"{name}.weight"]
        if lora == "off":
            return weight
        a, b = (self.lora[_key(name, part)] for part in "AB")
        return torch.addmm(weight, b, a, alpha=self.alpha / self.rank)

    def _norm(self, x, name):
        return F.rms_norm(x, x.shape[-1:], self.weights[f"{name}.weight"], self.eps)

    def _block(self, x, i, cos, sin, lora, attend):
        batch, length, _ = x.shape
        attention, mlp = (f"model.layers.{i}.{part}" for part in ("self_attn", "mlp"))
        linear = lambda x, name: F.linear(x, self._weight(name, lora))
        h = self._norm(x, f"model.layers.{i}.input_layernorm")
        q, k, v = (linear(h, f"{attention}.{name}") for name in ("q_proj", "k_proj", "v_proj"))
        rotated = _rotate(torch.cat((q, k), -1).view(batch, length, -1, self.head_dim), cos, sin).transpose(1, 2)
        q, k = rotated.split((self.heads, self.kv_heads), 1)
        v = v.view(batch, length, self.kv_heads, self.head_dim).transpose(1, 2)
        attended = attend(i, q, k, v).transpose(1, 2).reshape(batch, length, -1)
        x = x + linear(attended, f"{attention}.o_proj")
        h = self._norm(x, f"model.layers.{i}.post_attention_layernorm")
        gate, up = (linear(h, f"{mlp}.{name}") for name in ("gate_proj", "up_proj"))
        return x + linear(F.silu(gate) * up, f"{mlp}.down_proj")

    def hidden(self, ids, lora="on", keep=None):
        """The final hidden states of rows padded on the right: [rows, tokens] -> [rows, tokens, width].

        keep(layer, k, v) receives keys and values.
        """

        def attend(i, q, k, v):
            if keep:
                keep(i, k, v)
            k, v = (x.repeat_interleave(self.heads // self.kv_heads, 1) for x in (k, v))
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

        x = self.weights["model.embed_tokens.weight"][ids]
        cos, sin = (table[: ids.shape[1], None] for table in (self.cos, self.sin))
        for i in range(self.num_layers):
            x = self._block(x, i, cos, sin, lora, attend)
        return self._norm(x, "model.norm")

    def log_probs(self, ids, chosen, lora="on"):
        """Log-probabilities of the tokens marked by `chosen`, given all tokens before them, as a flat list in row order."""
        hidden = self.hidden(ids, lora)[:, :-1][chosen[:, 1:]]
        logits = F.linear(hidden, self.weights["lm_head.weight"])
        return -F.cross_entropy(logits, ids[:, 1:][chosen[:, 1:]], reduction="none")

    @torch.no_grad()
    def generate(self, contexts, *, max_new_tokens, temperature, has_stopped, rows):
        """Continues each context until `has_stopped(ids)`, which is checked now and then, or for `max_new_tokens`.

        temperature: 0 means greedy. rows: contexts generated at a time. Returns token ids, including those after a stop.
        """
        generations = []
        order = sorted(range(len(contexts)), key=lambda i: len(contexts[i]))
        for start in range(0, len(order), rows):
            part = order[start : start + rows]
            found = self._generate([contexts[i] for i in part], max_new_tokens, temperature, has_stopped, rows)
            generations += zip(part, found)
        return [ids for _, ids in sorted(generations)]

    def _generate(self, contexts, max_new_tokens, temperature, has_stopped, rows):
        lengths = torch.tensor([len(ids) for ids in contexts] + [1] * (rows - len(contexts)), device=self.device)
        longest = max(map(len, contexts))
        cache = self._room(rows, longest + max_new_tokens)
        # Recorded before the prompts are read, because recording writes into the cache.
        step = self._step(rows, temperature)
        ids = torch.zeros(len(contexts), longest, dtype=torch.long)
        for row, context in zip(ids, contexts):
            row[: len(context)] = torch.tensor(context)
        last = torch.zeros(rows, self.weights["model.norm.weight"].shape[0], device=self.device)
        # Few at a time, to keep the memory of the passes small.
        for start in range(0, len(contexts), 32):
            part = slice(start, min(start + 32, len(contexts)))

            def keep(i, k, v):
                cache[i][0][part, :, :longest] = k
                cache[i][1][part, :, :longest] = v

            hidden = self.hidden(ids[part].to(self.device), "merged", keep)
            last[part] = hidden[torch.arange(len(hidden), device=self.device), lengths[part] - 1]
        token = step.choose(last)
        written = [token]
        for n in range(1, max_new_tokens):
            if n % _STRIDE == 0:
                so_far = torch.stack(written, 1)[: len(contexts)].tolist()
                if all(map(has_stopped, so_far)):
                    break
            written.append(step(written[-1], lengths + n - 1))
        return torch.stack(written, 1)[: len(contexts)].tolist()

    def _room(self, rows, length):
        if self._cache is None or self._cache[0][0].shape[0] != rows or self._cache[0][0].shape[2] < length:
            length = -(-length // 256) * 256
            self._graphs, self._cache = {}, None
            shape = (rows, self.kv_heads, length, self.head_dim)
            self._cache = [[torch.zeros(shape, device=self.device) for _ in range(2)] for _ in range(self.num_layers)]
        return self._cache

    def _step(self, rows, temperature):
        if temperature not in self._graphs:
            self._graphs[temperature] = _Step(self, rows, temperature)
        return self._graphs[temperature]

    def next_hidden(self, token, position):
        """Runs one more token for every row: [rows] and its position -> [rows, width]."""
        rows = torch.arange(len(token), device=self.device)
        visible = torch.arange(self._cache[0][0].shape[2], device=self.device) <= position[:, None]

        def attend(i, q, k, v):
            for kept, new in zip(self._cache[i], (k, v)):
                kept[rows, :, position] = new[:, :, 0]
            # Query heads that share a key head are the rows of one product.
            grouped = q.view(len(token), self.kv_heads, -1, self.head_dim)
            attended = F.scaled_dot_product_attention(grouped, *self._cache[i], attn_mask=visible[:, None, None])
            return attended.reshape(len(token), self.heads, 1, self.head_dim)

        x = self.weights["model.embed_tokens.weight"][token][:, None]
        cos, sin = (table[position][:, None, None] for table in (self.cos, self.sin))
        for i in range(self.num_layers):
            x = self._block(x, i, cos, sin, "merged", attend)
        return self._norm(x, "model.norm")[:, 0]


class _Step:
    """Generates a token for every row; on a GPU, as one recorded graph."""

    def __init__(self, model, rows, temperature):
        self.model, self.temperature = model, temperature
        self.token = torch.zeros(rows, dtype=torch.long, device=model.device)
        self.position = torch.zeros(rows, dtype=torch.long, device=model.device)
        self.graph = None
        if model.device.type != "cuda":
            return
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self._run()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.chosen = self._run()

    def choose(self, hidden):
        logits = F.linear(hidden, self.model.weights["lm_head.weight"])
        if self.temperature == 0:
            return logits.argmax(-1)
        # The Gumbel trick: an argmax that samples from the softmax.
        noise = torch.empty_like(logits).exponential_().log()
        return (logits / self.temperature - noise).argmax(-1)

    def _run(self):
        return self.choose(self.model.next_hidden(self.token, self.position))

    def __call__(self, token, position):
        self.token.copy_(token)
        self.position.copy_(position)
        if self.graph is None:
            return self._run()
        self.graph.replay()
        return self.chosen.clone()


def _read_adapter(folder):
    """The configuration of an adapter in PEFT format, and both matrices by module."""
    config = json.loads((Path(folder) / "adapter_config.json").read_text(encoding="utf-8"))
    tensors = load_file(Path(folder) / "adapter_model.safetensors")
    names = {name.removeprefix("base_model.model.").split(".lora_")[0] for name in tensors}
    part = lambda name, which: tensors[f"base_model.model.{name}.lora_{which}.weight"]
    return config, {name: (part(name, "A"), part(name, "B")) for name in sorted(names)}


def _key(name, part):
    return f"{name}.{part}".replace(".", "/")


def _rotate(x, cos, sin):
    """Rotary positions of [rows, tokens, heads, width]."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin
