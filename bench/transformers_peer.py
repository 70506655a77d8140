"""PyTorch's side of `policy.ts` and `real-model.ts`: reads JSON requests line by line and answers each with a line, until the input ends.

    python transformers_peer.py MODEL [--dtype float32] [--lora RANK] [--threads N]

    {"do": "generate", "contexts": [[...]], "tokens": N}  -> {"seconds": ..., "tokenIds": [[...]]}
    {"do": "gradients", "rows": [[...]]}                   -> {"seconds": ..., "loss": ...}
    {"do": "memory"}                                       -> {"seconds": ..., "bytes": peak resident memory}

With --lora, gradients are those of new adapters on all matrices of the layers (peft), followed by an optimizer step with learning rate 0.
"""

import argparse
import json
import resource
import sys
import time

import torch
from transformers import AutoModelForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("--dtype", default="float32")
parser.add_argument("--lora", type=int)
parser.add_argument("--threads", type=int)
args = parser.parse_args()
if args.threads:
    torch.set_num_threads(args.threads)
model = AutoModelForCausalLM.from_pretrained(args.model, dtype=getattr(torch, args.dtype))
optimizer = None
if args.lora:
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(model, LoraConfig(r=args.lora, target_modules="all-linear"))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.0)
PAD_ID = 0


def generate(contexts, tokens):
    longest = max(map(len, contexts))
    padded = torch.tensor([[PAD_ID] * (longest - len(row)) + row for row in contexts])
    mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in contexts])
    model.eval()
    with torch.inference_mode():
        out = model.generate(
            input_ids=padded,
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
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    if optimizer:
        optimizer.step()
    return {"loss": loss.item()}


def memory():
    return {"bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


ACTIONS = {"generate": generate, "gradients": gradients, "memory": memory}
for line in sys.stdin:
    request = json.loads(line)
    action = ACTIONS[request.pop("do")]
    start = time.perf_counter()
    reply = action(**request)
    print(json.dumps({**reply, "seconds": time.perf_counter() - start}), flush=True)
