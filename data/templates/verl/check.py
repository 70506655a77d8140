"""Checks this folder against the installed verl; needs no GPU and starts no training.

    PYTHONPATH=. python3 check.py [--model FOLDER]

The configuration composes and passes verl's own validation, its dataset class reads the rows, its reward manager calls the
reward, and its agent loop worker runs the agent loop with a scripted model and a small search server on this machine. `--model`
names a folder in Hugging Face format whose tokenizer is used instead of the configured model's.
"""

import argparse
import asyncio
import json
import os
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import torch
from hydra import compose, initialize_config_dir
from tensordict import TensorDict

from parallelsearch.rewards import compute_score
from verl import DataProto
from verl.experimental.agent_loop import AgentLoopWorker
from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_weights
from verl.trainer.ppo.reward import load_reward_manager
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.utils.config import omega_conf_to_dataclass, validate_config
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
from verl.workers.rollout.replica import TokenOutput

ROOT = Path(__file__).resolve().parent
SETTINGS = json.loads((ROOT / "agent_loops.yaml").read_text())[0]["rollout"]
# A rollout with each kind of turn: a search, an invalid action, an answer.
SCRIPT = [
    f"<think> two things </think>\n<search> first thing {SETTINGS.get('query_separator', '##')} second thing </search>",
    "<think> hm </think>",
    "<think> known </think>\n<answer> {answer} </answer>",
]
PASSAGES = [{"id": str(i), "contents": f"Title {i}\nText {i} </information> of it."} for i in range(5)]


def quote(value):
    """Quotes a text for Hydra's override grammar, without interpolation."""
    escaped = re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + match[2].replace("'", r"\'"), str(value))
    return "'" + escaped.replace("${", r"\${") + "'"


def load_config(model):
    overrides = [f"root={quote(ROOT)}", *([f"actor_rollout_ref.model.path={quote(model)}"] if model else [])]
    with initialize_config_dir(config_dir=str(ROOT / "config"), version_base=None):
        config = compose("train", overrides=overrides)
    validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
    return config


def check_config(config):
    actor, rollout, algorithm = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout, config.algorithm
    paper = {
        "policy learning rate": (actor.optim.lr, 1e-6),
        "its warm-up": (actor.optim.lr_warmup_steps_ratio, 0.285),
        "steps": (config.trainer.total_training_steps, 500),
        "batch": (config.data.train_batch_size, 512),
        "mini-batch": (actor.ppo_mini_batch_size, 256),
        "micro-batch": (actor.ppo_micro_batch_size_per_gpu * config.trainer.n_gpus_per_node, 64),
        "clip": (actor.clip_ratio, 0.2),
        "temperature": (rollout.temperature, 1.0),
        "top-p": (rollout.top_p, 1.0),
        "sequence": (rollout.max_model_len, 4096),
        "gamma": (algorithm.gamma, 1.0),
        "lambda": (algorithm.lam, 1.0),
    }
    if algorithm.adv_estimator == "gae":
        critic = config.critic.optim
        paper |= {"value learning rate": (critic.lr, 1e-5), "its warm-up, value": (critic.lr_warmup_steps_ratio, 0.015)}
        paper |= {"KL in the reward": (algorithm.use_kl_in_reward and algorithm.kl_ctrl.kl_coef, 0.001)}
        assert need_critic(config)
    else:
        paper |= {"group": (rollout.n, 5), "KL in the loss": (actor.use_kl_loss and actor.kl_loss_coef, 0.001)}
        assert actor.kl_loss_type == "low_var_kl" and not need_critic(config)
    check_objective(config)
    different = {name: values for name, values in paper.items() if values[0] != values[1]}
    assert not different, f"Not as in the paper (found, expected): {different}"
    print(f"configuration: {algorithm.adv_estimator}, {len(paper)} settings of the paper, accepted by verl")


def check_objective(config):
    """The settings for which verl's defaults, in this or another version, differ from the TypeScript library."""
    actor, correction = config.actor_rollout_ref.actor, config.algorithm.rollout_correction
    assert (actor.clip_ratio_low, actor.clip_ratio_high) == (0.2, 0.2) and actor.clip_ratio_c >= 1e9
    assert actor.loss_agg_mode == "token-mean" and actor.policy_loss.loss_mode == "vanilla" and actor.entropy_coeff == 0
    assert config.actor_rollout_ref.rollout.calculate_log_probs
    log_ratio = torch.tensor([[0.5, 0.5], [1.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
    weights, _ = compute_rollout_correction_weights(
        log_ratio,
        torch.ones_like(log_ratio),
        rollout_is=correction.rollout_is,
        rollout_is_threshold=correction.rollout_is_threshold,
        rollout_is_batch_normalize=correction.rollout_is_batch_normalize,
    )
    # Ratios e, e^2 (above 3) and 1, on each token of the rollout.
    expected = torch.tensor([[1.0], [2.0], [0.0]], dtype=torch.float64).exp() * torch.tensor([[1.0], [0.0], [1.0]])
    assert torch.allclose(weights, expected.expand_as(weights)), weights
    assert correction.rollout_rs is None and not correction.bypass_mode


def check_dataset(config, tokenizer):
    """Returns the first rows from verl's data loader."""
    for name in ("train", "val"):
        path = config.data[f"{name}_files"]
        dataset = RLHFDataset([path], tokenizer, config.data)
        row = dataset[0]
        assert row["raw_prompt"][0]["role"] == "user" and row["raw_prompt"][0]["content"].strip()
        assert list(row["reward_model"]["ground_truth"]["target"])
        print(f"dataset: {len(dataset)} rows of {name}")
    return collate_fn([dataset[i] for i in range(min(4, len(dataset)))])


def check_reward(manager, batch, tokenizer):
    """Checks that the manager returns the function's reward, for a right and a wrong answer to each question."""
    keywords = dict(manager.config.reward.custom_reward_function.reward_kwargs)
    for i, reward_model in enumerate(batch["reward_model"]):
        truth = reward_model["ground_truth"]
        for answer in (truth["target"][0], "nobody knows"):
            response = f"<think> t </think><search> a </search>\n\n<information>x</information><think> t </think><answer>{answer}</answer>"
            responses = torch.tensor([tokenizer.encode(response, add_special_tokens=False)])
            tensors = {"responses": responses, "prompts": responses[:, :1], "attention_mask": torch.ones_like(responses)}
            row = {name: batch[name][i : i + 1] for name in ("data_source", "reward_model", "extra_info")}
            data = DataProto(batch=TensorDict(tensors, batch_size=1), non_tensor_batch=row)
            result = manager.loop.run_until_complete(manager.run_single(data))
            expected = compute_score("check", tokenizer.decode(responses[0]), truth, **keywords)
            assert result["reward_score"] == expected["score"], (result, expected)
            assert expected["outcome"] == float(answer == truth["target"][0]), (answer, truth)
    print(f"reward manager: {type(manager).__name__} calls the reward, components {sorted(expected)}")


class SearchServer(BaseHTTPRequestHandler):
    """Serves Search-R1's protocol, recording the queries."""

    asked = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(body["queries"])
        result = [[{"document": p, "score": 1.0} for p in PASSAGES[: body["topk"]]] for _ in body["queries"]]
        answer = json.dumps({"result": result}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class ScriptedModel:
    """Replaces verl's engine client: returns the script, turn by turn."""

    def __init__(self, tokenizer, answers):
        self.tokenizer, self.answers, self.turns, self.sampling = tokenizer, answers, {}, []

    async def generate(self, request_id, *, prompt_ids, sampling_params, **_):
        self.sampling.append(sampling_params)
        turn = self.turns[request_id] = self.turns.get(request_id, -1) + 1
        prompt = self.tokenizer.decode(prompt_ids)
        answer = next(answer for question, answer in self.answers.items() if question in prompt)
        token_ids = self.tokenizer.encode(SCRIPT[turn].format(answer=answer), add_special_tokens=False)
        return TokenOutput(token_ids=token_ids, log_probs=[-0.5] * len(token_ids), stop_reason="completed")


class RewardWorker:
    """Replaces verl's reward worker, a Ray actor: calls the manager in this process."""

    def __init__(self, manager):
        self.manager = manager
        self.compute_score = self

    def remote(self, data):
        return self.manager.run_single(data)


def check_agent_loop(config, manager, batch, tokenizer):
    """Returns what the worker passes to the trainer."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), SearchServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    loops = json.loads((ROOT / "agent_loops.yaml").read_text())
    loops[0]["retriever"] = f"http://127.0.0.1:{server.server_port}/retrieve"
    loop_file = ROOT / "agent_loops.check.yaml"
    loop_file.write_text(json.dumps(loops))
    config.actor_rollout_ref.rollout.agent.agent_loop_config_path = str(loop_file)
    answers = {
        message[0]["content"].split("Question: ")[-1]: truth["ground_truth"]["target"][0]
        for message, truth in zip(batch["raw_prompt"], batch["reward_model"])
    }
    model = ScriptedModel(tokenizer, answers)
    worker = AgentLoopWorker(config, model, reward_loop_worker_handles=[RewardWorker(manager)])
    tensors = {name: value for name, value in batch.items() if isinstance(value, torch.Tensor)}
    arrays = {name: value for name, value in batch.items() if isinstance(value, np.ndarray)}
    data = DataProto.from_dict(tensors=tensors, non_tensors=arrays)
    try:
        output = manager.loop.run_until_complete(worker.generate_sequences(data))
    finally:
        server.shutdown()
        loop_file.unlink()
    settings = loops[0]["rollout"]
    queries = ["first thing", "second thing"] if settings["split_queries"] else ["first thing second thing"]
    searches = settings["max_search_turns"] > 0
    assert SearchServer.asked == ([queries] * len(output) if searches else []), SearchServer.asked
    assert all(p["stop"] == ["</search>", "</answer>"] and p["max_tokens"] == settings["max_new_tokens"] for p in model.sampling)
    for i in range(len(output)):
        check_rollout(output, i, tokenizer, settings, batch["reward_model"][i]["ground_truth"], manager)
    kinds = [kind for kind, _ in output.non_tensor_batch["segments"][0]]
    print(f"agent loop: {len(output)} rollouts of {' '.join(kinds)}; mask, log-probs and rewards as they should be")
    return output


def check_rollout(output, i, tokenizer, settings, truth, manager):
    segments = output.non_tensor_batch["segments"][i]
    length = int(output.batch["attention_mask"][i, -output.batch["responses"].shape[1] :].sum())
    ids = output.batch["responses"][i, :length].tolist()
    mask = output.batch["response_mask"][i]
    expected_ids, expected_mask = [], []
    for kind, text in segments:
        own = tokenizer.encode(text, add_special_tokens=False, split_special_tokens=kind != "policy")
        expected_ids += own
        expected_mask += [int(kind == "policy")] * len(own)
    assert ids == expected_ids
    assert mask[:length].tolist() == expected_mask and not mask[length:].any()
    assert (output.batch["rollout_log_probs"][i] == -0.5 * mask).all()
    for kind, text in segments:
        if kind == "information":
            is_json = settings.get("information_form") == "json"
            passage = "Doc 1: Title 0   Text 0" if is_json else "<information>Doc 1(Title: Title 0) Text 0"
            assert f"{passage} (/information) of it." in text, text
            assert text.count("Doc 1") == (2 if settings["split_queries"] else 1)
        if kind == "notice":
            assert text == settings["notice"]
    keywords = dict(manager.config.reward.custom_reward_function.reward_kwargs)
    reward = compute_score("check", "", truth, {"segments": segments}, **keywords)
    scores = output.batch["rm_scores"][i]
    # verl stores rewards as 32-bit floats, at the last token.
    assert scores[length - 1].item() == np.float32(reward["score"]) and (scores != 0).sum() <= 1
    for name, value in reward.items():
        assert output.non_tensor_batch[name][i] == value


def check_all(model):
    """Returns the tokenizer, the rows and the rollouts."""
    config = load_config(model)
    check_config(config)
    tokenizer = omega_conf_to_dataclass(config.actor_rollout_ref.model).tokenizer
    batch = check_dataset(config, tokenizer)
    asyncio.set_event_loop(asyncio.new_event_loop())
    manager = load_reward_manager(config, tokenizer)
    check_reward(manager, batch, tokenizer)
    output = check_agent_loop(config, manager, batch, tokenizer)
    print("All of it fits the installed verl.")
    return tokenizer, batch, output


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--model", help="folder in Hugging Face format, instead of the configured model")
    check_all(arguments.parse_args().model)
