"""PyTorch's side of `bench/policy.ts`: reads one JSON request a line and answers with one, until the input ends.

    {"do": "generate", "contexts": [[...]], "tokens": N}  -> {"seconds": ..., "tokenIds": [[...]]}
    {"do": "gradients", "rows": [[...]]}                   -> {"seconds": ..., "loss": ...}
"""

import json
import sys
import time

import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
PAD_ID = 0


def generate(contexts, tokens):
    longest = max(map(len, contexts))
    padded = torch.tensor([[PAD_ID] * (longest - len(row)) + row for row in contexts])
    mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in contexts])
    model.eval()
    with torch.inference_mode():
        out = model.generate(
            padded,
            attention_mask=mask,
            do_sample=False,
            max_new_tokens=tokens,
            eos_token_id=None,
            pad_token_id=PAD_ID,
        )
    return {"tokenIds": out[:, longest:].tolist()}


def gradients(rows):
    ids = torch.tensor(rows)
    model.train()
    model.zero_grad()
    loss = model(ids, labels=ids).loss
    loss.backward()
    return {"loss": loss.item()}


ACTIONS = {"generate": generate, "gradients": gradients}
for line in sys.stdin:
    request = json.loads(line)
    action = ACTIONS[request.pop("do")]
    start = time.perf_counter()
    reply = action(**request)
    print(json.dumps({**reply, "seconds": time.perf_counter() - start}), flush=True)
