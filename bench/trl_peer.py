"""TRL's side of `grpo.ts`: GRPO steps of GRPOTrainer with LoRA on a CPU, from one JSON object on stdin. Prints one JSON object.

    {"model": folder, "prompts": [text], "groupSize": G, "newTokens": N, "steps": S, "rank": R, "threads": T}
    -> {"seconds": [of each step], "bytes": peak resident memory}

A step takes all prompts, with G completions each, of exactly N tokens. The prompts contain what the policy reads during an answer.
"""

import json
import resource
import sys
import tempfile
import time

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

request = json.load(sys.stdin)
torch.set_num_threads(request["threads"])
output, sys.stdout = sys.stdout, sys.stderr  # the trainer prints
prompts, group, steps = request["prompts"], request["groupSize"], request["steps"]


class Clock(TrainerCallback):
    seconds, start = [], 0.0

    def on_step_begin(self, *_, **__):
        self.start = time.perf_counter()

    def on_step_end(self, *_, **__):
        self.seconds.append(time.perf_counter() - self.start)


with tempfile.TemporaryDirectory() as folder:
    clock = Clock()
    trainer = GRPOTrainer(
        model=request["model"],
        # Must vary within a group: here, the fraction of even characters.
        reward_funcs=lambda completions, **_: [sum(ord(c) % 2 for c in text) / (1 + len(text)) for text in completions],
        args=GRPOConfig(
            output_dir=folder,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            per_device_train_batch_size=len(prompts) * group,
            num_generations=group,
            max_completion_length=request["newTokens"],
            generation_kwargs={"min_new_tokens": request["newTokens"]},
            max_steps=steps,
            beta=0.001,
            learning_rate=1e-3,
            model_init_kwargs={"dtype": "float32"},
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_dict({"prompt": prompts * steps}),
        peft_config=LoraConfig(r=request["rank"], target_modules="all-linear"),
        callbacks=[clock],
    )
    trainer.train()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": clock.seconds, "bytes": peak}), file=output)
