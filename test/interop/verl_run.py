"""The output of a training on verl, made with verl's own code on a CPU: python verl_run.py EXPORT MODEL.

In the folder of an export: rollouts/1.jsonl, by verl's writer from the rollouts of check.py; checkpoints/global_step_1/actor, the
shards of a model; merged/, by verl's merger.
"""

import json
import subprocess
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

root, model = Path(sys.argv[1]).resolve(), sys.argv[2]
sys.path.insert(0, str(root))

import check  # noqa: E402
from verl.trainer.ppo.ray_trainer import RayPPOTrainer  # noqa: E402


def dump_rollouts(tokenizer, batch, output):
    """Like `RayPPOTrainer._log_rollout_data`."""
    prompts, responses = output.batch["prompts"], output.batch["responses"]
    inputs = tokenizer.batch_decode(prompts, skip_special_tokens=True)
    outputs = tokenizer.batch_decode(responses, skip_special_tokens=True)
    truths = [model["ground_truth"] for model in batch["reward_model"]]
    scores = output.batch["rm_scores"].sum(-1).cpu().tolist()
    RayPPOTrainer._write_generations(inputs, outputs, truths, scores, {}, str(root / "rollouts"), 1)


def save_checkpoint(tokenizer):
    """Writes one shard like verl's FSDP engine, next to config and tokenizer, then runs verl's merger."""
    actor = root / "checkpoints" / "global_step_1" / "actor"
    actor.mkdir(parents=True)
    trained = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    torch.save(trained.state_dict(), actor / "model_world_size_1_rank_0.pt")
    (actor / "fsdp_config.json").write_text(json.dumps({"FSDP_version": 2, "world_size": 1}))
    trained.config.save_pretrained(actor / "huggingface")
    tokenizer.save_pretrained(actor / "huggingface")
    merge = ["-m", "verl.model_merger", "merge", "--backend", "fsdp", "--local_dir", actor, "--target_dir", root / "merged"]
    subprocess.run([sys.executable, *map(str, merge)], check=True)


tokenizer, batch, output = check.check_all(model)
dump_rollouts(tokenizer, batch, output)
save_checkpoint(tokenizer)
