"""ParallelSearch on one GPU with only PyTorch: imitation of demonstrations, GRPO, and answers to questions.

    python3 train.py sft --out warm-up
    python3 train.py grpo --warm-up warm-up --out trained
    python3 train.py answer --warm-up warm-up --adapter trained --out answers.jsonl

`search.json` has the retriever's address, the rollout settings and the weights of the rewards. The retriever must be running.
"""

import argparse
import gzip
import json
import math
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet
import torch
from transformers import AutoTokenizer

from llama import Llama
from parallelsearch.rewards import compute_score, exact_match
from parallelsearch.rollout import Rollout, RolloutOptions, plain_messages
from parallelsearch.search import retrieve
from parallelsearch.tags import STOP_STRINGS, executed_searches, final_answer

ROOT = Path(__file__).resolve().parent


class Lab:
    """The model, its tokenizer and the search, as configured in `search.json`."""

    def __init__(self, options):
        self.options = options
        self.search = json.loads((ROOT / options.search).read_text(encoding="utf-8"))
        self.rollout = RolloutOptions(**self.search["rollout"])
        folder = options.model or self.search["model"]
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        if self.search["chat_template"]:
            self.tokenizer.chat_template = self.search["chat_template"]
        device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.set_float32_matmul_precision("high")
        torch.manual_seed(options.seed)
        self.model = Llama(folder, rank=options.rank, alpha=2 * options.rank, device=device, seed=options.seed)
        if options.warm_up:
            self.model.fold(options.warm_up)
        if options.adapter:
            self.model.load_adapter(options.adapter)
        self.stops = [self.tokenizer.eos_token_id]

    def save(self, folder):
        """Writes the adapter, and a configuration that tells the library its method and limits."""
        self.model.save_adapter(folder, self.search["model"])
        config = self.search["train_config"]
        rank = self.model.rank
        config = {**config, "lora": {"rank": rank, "alpha": self.model.alpha}, "seed": self.options.seed}
        (Path(folder) / "train_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")

    def has_stopped(self, ids):
        text = self.tokenizer.decode(ids)
        return any(stop in text for stop in STOP_STRINGS) or any(stop in ids for stop in self.stops)

    def roll_out(self, rows, temperature):
        """Runs Algorithm 1 for each row, turn by turn; the searches of all rows run concurrently."""
        rollouts = [
            Rollout(
                self.tokenizer.apply_chat_template(
                    plain_messages(row["prompt"], self.tokenizer), add_generation_prompt=True, return_dict=False
                ),
                self.tokenizer,
                self.rollout,
                min(self.search["max_length"], len(self.model.cos)),
            )
            for row in rows
        ]
        with ThreadPoolExecutor(16) as pool:
            while active := [rollout for rollout in rollouts if rollout.is_open()]:
                generations = self.model.generate(
                    [rollout.token_ids for rollout in active],
                    max_new_tokens=self.rollout.max_new_tokens,
                    temperature=temperature,
                    has_stopped=self.has_stopped,
                    rows=self.options.rows,
                )
                queries = [
                    rollout.add_generation(self._until_end(ids)) for rollout, ids in zip(active, generations)
                ]
                for rollout, found in zip(active, pool.map(self._retrieve, queries)):
                    if found:
                        rollout.add_information(found)
        return rollouts

    def _until_end(self, ids):
        ends = [i + 1 for i, token in enumerate(ids) if token in self.stops]
        return ids[: ends[0]] if ends else ids

    def _retrieve(self, queries):
        options = {"top_k": self.rollout.top_k, "timeout_seconds": self.search["timeout_seconds"]}
        return retrieve(self.search["retriever"], queries, **options) if queries else None

    def score(self, row, rollout):
        truth = row["reward_model"]["ground_truth"]
        extra = {"segments": rollout.segments}
        return compute_score("", "", truth, extra, **self.search["reward_kwargs"])


def read_questions(name):
    return pyarrow.parquet.read_table(ROOT / "data" / f"{name}.parquet").to_pylist()


def pad(rows, device):
    """Pads token ids and weights of rows on the right: two tensors of [rows, tokens]."""
    longest = max(len(ids) for ids, _ in rows)
    ids, weights = torch.zeros(len(rows), longest, dtype=torch.long), torch.zeros(len(rows), longest)
    for i, (row, weight) in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        weights[i, : len(row)] = torch.tensor(weight, dtype=torch.float32)
    return ids.to(device), weights.to(device)


def split_rows(rows, tokens):
    """Splits rows into passes of similar length, with at most `tokens` padded tokens each."""
    passes, longest = [], 0
    for row in sorted(rows, key=lambda row: len(row[0])):
        longest = len(row[0])
        if not passes or longest * (len(passes[-1]) + 1) > tokens:
            passes.append([])
        passes[-1].append(row)
    return passes


class Optimizer:
    """AdamW with a linear warm-up, then a constant or decaying learning rate, and gradient clipping."""

    def __init__(self, model, options):
        self.parameters = list(model.parameters())
        self.adamw = torch.optim.AdamW(self.parameters, betas=(0.9, options.beta2), weight_decay=0)
        self.options, self.start = options, time.time()

    def is_last(self, n):
        return n + 1 == self.options.steps or time.time() - self.start > 60 * self.options.minutes

    def step(self, n):
        o = self.options
        rate = o.learning_rate * min(1, (n + 1) / o.warmup_steps)
        if o.command == "sft":
            rate *= max(0.0, 1 - max(n / o.steps, (time.time() - self.start) / (60 * o.minutes)))
        for group in self.adamw.param_groups:
            group["lr"] = rate
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        if torch.isfinite(norm):
            self.adamw.step()
        self.adamw.zero_grad(set_to_none=True)
        return float(norm)


def imitate(lab):
    """Minimises the cross-entropy of the weighted tokens of demonstrations, drawn without replacement."""
    o, model = lab.options, lab.model
    with gzip.open(ROOT / "data" / "demonstrations.jsonl.gz", "rt", encoding="utf-8") as lines:
        demonstrations = [tuple(json.loads(line).values()) for line in lines]
    shuffle, queue, optimizer = random.Random(o.seed), [], Optimizer(model, o)
    for step in range(o.steps):
        if len(queue) < o.rows_per_step:
            queue += shuffle.sample(demonstrations, len(demonstrations))
        rows, queue = queue[: o.rows_per_step], queue[o.rows_per_step :]
        total = sum(sum(weights) for _, weights in rows)
        loss = 0.0
        for part in split_rows(rows, o.tokens_per_pass):
            ids, weights = pad(part, model.device)
            log_probs = model.log_probs(ids, weights > 0)
            part_loss = -(log_probs * weights[:, 1:][weights[:, 1:] > 0]).sum() / total
            part_loss.backward()
            loss += float(part_loss.detach())
        norm = optimizer.step(step)
        is_last = optimizer.is_last(step)
        if step % 10 == 9 or is_last:
            seconds = time.time() - optimizer.start
            note(o.out, {"step": step + 1, "loss": loss, "grad_norm": norm, "seconds": seconds})
        if is_last:
            break
    lab.save(o.out)


def note(out, metrics):
    line = json.dumps({key: round(value, 5) if isinstance(value, float) else value for key, value in metrics.items()})
    print(line, flush=True)
    Path(out).mkdir(parents=True, exist_ok=True)
    with open(Path(out) / "metrics.jsonl", "a", encoding="utf-8") as file:
        file.write(line + "\n")


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else 0.0


def behaviour(rows, rollouts, scores):
    """Means over rollouts, under the library's names."""
    searches = [executed_searches(rollout.segments, rollout.options.query_separator) for rollout in rollouts]
    shapes = [row["reward_model"]["ground_truth"]["shape"] for row in rows]
    decomposed = [any(len(queries) > 1 for queries in own) for own in searches]
    share = lambda shape: mean(float(d) for d, own in zip(decomposed, shapes) if own == shape)
    return {
        "reward": mean(score["score"] for score in scores),
        "rewards/outcome": mean(score["outcome"] for score in scores),
        "answered": mean(float(final_answer(rollout.segments) is not None) for rollout in rollouts),
        "model_calls": mean(float(rollout.num_generations) for rollout in rollouts),
        "turns": mean(float(len(own)) for own in searches),
        "decomposition_ratio": mean(map(float, decomposed)),
        "decomposition_ratio/parallelizable": share("parallelizable"),
        "decomposition_ratio/sequential": share("sequential"),
        "decomposition_ratio/single_hop": share("single_hop"),
        "share/parallelizable": mean(float(own == "parallelizable") for own in shapes),
        "share/sequential": mean(float(own == "sequential") for own in shapes),
        "tokens": mean(float(len(rollout.token_ids)) for rollout in rollouts),
    }


def reinforce(lab):
    """GRPO with one update per step: advantages within a group, token mean, KL to the initial model.

    The ratio of Eq. 2 is 1 in the only update, so it is never clipped.
    """
    o, model = lab.options, lab.model
    pools = {}
    for row in read_questions("train"):
        pools.setdefault(row["reward_model"]["ground_truth"]["shape"], []).append(row)
    mix = {name: share for name, share in json.loads(o.mix).items() if pools.get(name)}
    draw, optimizer, queues = random.Random(o.seed), Optimizer(model, o), {}
    validation = read_questions("val")
    best = -math.inf

    def next_question(shape):
        if not queues.get(shape):
            queues[shape] = draw.sample(pools[shape], len(pools[shape]))
        return queues[shape].pop()

    def validate(step):
        nonlocal best
        rollouts = lab.roll_out(validation, 0)
        scores = [lab.score(row, rollout) for row, rollout in zip(validation, rollouts)]
        found = behaviour(validation, rollouts, scores)
        note(o.out, {"step": step, "validation": True, **found})
        if found["reward"] > best:
            best = found["reward"]
            lab.save(Path(o.out) / "best")

    validate(0)
    for step in range(o.steps):
        shapes = draw.choices(list(mix), list(mix.values()), k=o.questions)
        rows = [row for shape in shapes for row in [next_question(shape)] * o.group]
        rollouts = lab.roll_out(rows, 1.0)
        scores = [lab.score(row, rollout) for row, rollout in zip(rows, rollouts)]
        rewards = torch.tensor([score["score"] for score in scores], dtype=torch.float64).view(o.questions, o.group)
        spread = rewards.std(1, keepdim=True)
        advantages = ((rewards - rewards.mean(1, keepdim=True)) / (spread + 1e-6)).flatten().tolist()
        used = (spread > 1e-6).repeat(1, o.group).flatten().tolist()
        trained = [
            (rollout.token_ids, [0] * len(rollout.prompt_ids) + [advantage if one else 0 for one in rollout.mask])
            for rollout, advantage, is_used in zip(rollouts, advantages, used)
            if is_used
        ]
        total = sum(sum(rollout.mask) for rollout, is_used in zip(rollouts, used) if is_used)
        kl = 0.0
        for part in split_rows(trained, o.tokens_per_pass):
            ids, weights = pad(part, model.device)
            chosen = weights != 0
            log_probs = model.log_probs(ids, chosen)
            with torch.no_grad():
                reference = model.log_probs(ids, chosen, lora="off")
            difference = reference - log_probs
            divergence = difference.exp() - difference - 1
            ratio = (log_probs - log_probs.detach()).exp()
            loss = (o.beta * divergence - ratio * weights[:, 1:][chosen[:, 1:]]).sum() / total
            loss.backward()
            kl += float(divergence.detach().sum()) / total
        norm = optimizer.step(step) if trained else 0.0
        model.merge()
        found = behaviour(rows, rollouts, scores)
        groups = {"groups_used": mean(map(float, used)), "kl": kl, "grad_norm": norm}
        note(o.out, {"step": step + 1, **found, **groups, "seconds": time.time() - optimizer.start})
        is_last = optimizer.is_last(step)
        if (step + 1) % o.validate_every == 0 or is_last:
            validate(step + 1)
        if is_last:
            break
    lab.save(Path(o.out) / "last")


def answer(lab):
    """Answers the questions in a file greedily, as trajectories for `parallelsearch score` and `view`."""
    o = lab.options
    rows = [row for name in o.questions_of.split(",") for row in read_questions(name)]
    rollouts = lab.roll_out(rows, 0)
    with open(o.out, "w", encoding="utf-8") as file:
        for row, rollout in zip(rows, rollouts):
            truth, extra = row["reward_model"]["ground_truth"], row["extra_info"]
            trajectory = {
                "questionId": truth["id"],
                "question": extra["question"],
                "goldenAnswers": truth["target"],
                "questionType": truth["shape"],
                "metadata": json.loads(extra["metadata"]),
                "segments": [
                    {"kind": "prompt", "text": lab.tokenizer.decode(rollout.prompt_ids), "tokenIds": rollout.prompt_ids},
                    *(
                        {"kind": kind, "text": text, "tokenIds": ids}
                        for (kind, text), ids in zip(rollout.segments, rollout.segment_ids)
                    ),
                ],
                "searchTurns": rollout.search_turns,
                "answer": final_answer(rollout.segments),
                "modelCalls": rollout.num_generations,
                "finish": rollout.finish,
                "maxSearchTurns": lab.rollout.max_search_turns,
                "querySeparator": lab.rollout.query_separator,
            }
            file.write(json.dumps(trajectory, ensure_ascii=False) + "\n")
    scores = [lab.score(row, rollout) for row, rollout in zip(rows, rollouts)]
    print(json.dumps(behaviour(rows, rollouts, scores)), flush=True)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["sft", "grpo", "answer"])
    parser.add_argument("--out", required=True, help="folder of the adapter; file of the answers")
    parser.add_argument("--model", help="folder in Hugging Face format; default: search.json's")
    parser.add_argument("--search", default="search.json", help="another file in its place")
    parser.add_argument("--warm-up", help="an adapter to merge into the weights first")
    parser.add_argument("--adapter", help="an adapter to start or answer with")
    parser.add_argument("--rank", type=int, default=16, help="of the adapter")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which training ends")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--warmup-steps", type=int, default=10)
    parser.add_argument("--beta2", type=float, default=0.98)
    parser.add_argument("--beta", type=float, default=0.001, help="weight of the KL to the initial model")
    parser.add_argument("--rows-per-step", type=int, default=64, help="demonstrations a step")
    parser.add_argument("--tokens-per-pass", type=int, default=16384, help="with padding; fewer need less memory")
    parser.add_argument("--questions", type=int, default=16, help="a step")
    parser.add_argument("--group", type=int, default=8, help="rollouts of each question")
    parser.add_argument("--rows", type=int, default=128, help="generated for at once")
    parser.add_argument("--mix", default='{"parallelizable": 0.5, "sequential": 0.35, "single_hop": 0.15}')
    parser.add_argument("--validate-every", type=int, default=20)
    parser.add_argument("--questions-of", default="val", help="files in data/ to answer, separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main():
    options = parse_options()
    lab = Lab(options)
    {"sft": imitate, "grpo": reinforce, "answer": answer}[options.command](lab)


if __name__ == "__main__":
    main()
