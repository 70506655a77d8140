"""Greedy continuations by transformers and PEFT: greedy.py FOLDER PROMPTS, where FOLDER is the output of `export hf` and PROMPTS a JSON file
{"contexts": [[token id, ..], ..], "tokens": n}. Prints {"merged": [[token id, ..], ..], "adapter": [..]}, the second by base and adapter."""
import json
import sys

import torch
from peft import AutoPeftModelForCausalLM
from transformers import AutoModelForCausalLM

folder, prompts = sys.argv[1], json.load(open(sys.argv[2]))


def greedy(model):
    rows = []
    for context in prompts["contexts"]:
        ids = torch.tensor([context])
        out = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=prompts["tokens"], do_sample=False)
        rows.append(out[0, len(context) :].tolist())
    return rows


with torch.no_grad():
    merged = greedy(AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32))
    adapter = greedy(AutoPeftModelForCausalLM.from_pretrained(f"{folder}/adapter", dtype=torch.float32))
print(json.dumps({"merged": merged, "adapter": adapter}))
