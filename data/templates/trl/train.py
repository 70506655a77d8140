"""GRPO with TRL's GRPOTrainer: a rollout function that searches in tags, and the rewards of Eq. 3 to 7.

    accelerate launch train.py --config config.yaml [--learning_rate 2e-6 ...]

`search.json` has the retriever's address, the rollout settings and the weights of the rewards.
"""

import json
from pathlib import Path

import torch
from datasets import load_dataset
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer, ModelConfig, TrlParser
from trl.models import unwrap_model_for_generation

from parallelsearch.rewards import compute_score
from parallelsearch.rollout import Rollout, RolloutOptions, plain_messages
from parallelsearch.search import retrieve
from parallelsearch.tags import STOP_STRINGS

ROOT = Path(__file__).resolve().parent
SEARCH = json.loads((ROOT / "search.json").read_text(encoding="utf-8"))
OPTIONS = RolloutOptions(**SEARCH["rollout"])


def generate(trainer, contexts):
    """Generates for each context up to a stop string: token ids, and their log-probabilities if the engine returns them."""
    if trainer.use_vllm:
        _, generations, log_probs, _ = trainer.vllm_generation.generate(
            prompts=contexts, images=None, num_generations=1
        )
        return generations, [[top[0] for top in row] for row in log_probs]
    tokenizer = trainer.processing_class
    inputs = tokenizer.pad({"input_ids": contexts}, padding_side="left", return_tensors="pt")
    with unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model, torch.no_grad():
        output = model.generate(
            **inputs.to(trainer.accelerator.device),
            generation_config=trainer.generation_config,
            stop_strings=STOP_STRINGS,
            tokenizer=tokenizer,
        )
    rows = output[:, inputs["input_ids"].shape[1] :].tolist()
    # Tokens after an end of sequence, and those that a rollout drops after a stop string, are padding.
    ends = [next((i + 1 for i, token in enumerate(row) if token in trainer.eos_token_ids), len(row)) for row in rows]
    return [row[:end] for row, end in zip(rows, ends)], None


def roll_out(prompts, trainer):
    """Runs Algorithm 1 for each prompt, turn by turn; the searches of a row are sent in one request."""
    tokenizer = trainer.processing_class
    rollouts = [
        Rollout(
            tokenizer.apply_chat_template(
                plain_messages(prompt, tokenizer), add_generation_prompt=True, return_dict=False
            ),
            tokenizer,
            OPTIONS,
            SEARCH["max_length"],
        )
        for prompt in prompts
    ]
    has_log_probs = trainer.use_vllm
    while rows := [rollout for rollout in rollouts if rollout.is_open()]:
        generations, log_probs = generate(trainer, [row.token_ids for row in rows])
        for i, row in enumerate(rows):
            queries = row.add_generation(generations[i], log_probs and log_probs[i])
            if queries:
                timeout_seconds = SEARCH["timeout_seconds"]
                found = retrieve(SEARCH["retriever"], queries, top_k=OPTIONS.top_k, timeout_seconds=timeout_seconds)
                row.add_information(found)
    return {
        "prompt_ids": [rollout.prompt_ids for rollout in rollouts],
        "completion_ids": [rollout.response_ids for rollout in rollouts],
        "logprobs": [rollout.log_probs for rollout in rollouts] if has_log_probs else None,
        # 0 for the tokens of passages and notices, which do not contribute to the loss.
        "env_mask": [rollout.mask for rollout in rollouts],
        "segments": [rollout.segments for rollout in rollouts],
        "tokens": [recorded_tokens(rollout, has_log_probs) for rollout in rollouts],
    }


def recorded_tokens(rollout, has_log_probs):
    """The trained tokens as JSON for the log of completions; empty unless search.json asks for it."""
    if not SEARCH["record_tokens"]:
        return ""
    log_probs = {"logprobs": rollout.log_probs} if has_log_probs else {}
    return json.dumps(
        {"prompt_ids": rollout.prompt_ids, "completion_ids": rollout.response_ids, "env_mask": rollout.mask, **log_probs}
    )


def reward(segments, reward_model, tokens, log_extra, log_metric, **_):
    """The reward of each rollout; its components are logged under the TypeScript library's names."""
    truths = [model["ground_truth"] for model in reward_model]
    keywords = SEARCH["reward_kwargs"]
    scores = [
        compute_score("", "", truth, {"segments": own}, **keywords) for truth, own in zip(truths, segments)
    ]
    log_extra("id", [truth["id"] for truth in truths])
    log_extra("ground_truth", [json.dumps(truth, ensure_ascii=False) for truth in truths])
    log_extra("segments", [json.dumps(own, ensure_ascii=False) for own in segments])
    if SEARCH["record_tokens"]:
        log_extra("tokens", tokens)
    for name in scores[0].keys() - {"score"}:
        log_metric(f"rewards/{name}", sum(score[name] for score in scores) / len(scores))
    return [score["score"] for score in scores]


def main():
    config, model = TrlParser((GRPOConfig, ModelConfig)).parse_args_and_config()
    if config.use_vllm:
        if config.vllm_mode != "colocate":
            raise ValueError(f"Expected vllm_mode colocate, whose processes search by themselves, but got {config.vllm_mode}.")
        config.generation_kwargs = {"stop": STOP_STRINGS, **(config.generation_kwargs or {})}
    name = model.model_name_or_path or SEARCH["model"]
    tokenizer = AutoTokenizer.from_pretrained(name, padding_side="left")
    if SEARCH["chat_template"]:
        tokenizer.chat_template = SEARCH["chat_template"]
    trainer = GRPOTrainer(
        model=name,
        args=config,
        train_dataset=load_dataset("parquet", data_files=str(ROOT / "data" / "train.parquet"), split="train"),
        processing_class=tokenizer,
        reward_funcs=reward,
        rollout_func=roll_out,
    )
    trainer.train(resume_from_checkpoint=config.resume_from_checkpoint)
    trainer.save_model()


if __name__ == "__main__":
    main()
