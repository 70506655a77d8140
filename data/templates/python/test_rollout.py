"""Checks that this folder's package gives the same rollouts as the TypeScript library: segments, token ids and masks.

    python3 tests/test_rollout.py          or          pytest tests
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from parallelsearch.rollout import Rollout, RolloutOptions  # noqa: E402


class Characters:
    """A tokenizer with one token per character."""

    def encode(self, text, **_):
        return [ord(character) for character in text]

    def decode(self, token_ids, **_):
        return "".join(map(chr, token_ids))


def run(case):
    """Runs a rollout with a scripted policy and recorded search results."""
    tokenizer = Characters()
    options = RolloutOptions(**case["options"])
    rollout = Rollout(tokenizer.encode(case["prompt"]), tokenizer, options, case["max_length"])
    script = iter(case["script"])
    while rollout.is_open():
        queries = rollout.add_generation(tokenizer.encode(next(script)))
        if queries:
            found = [case["found"][query] for query in queries]
            rollout.add_information([passages and passages[: options.top_k] for passages in found])
    shown = [
        [[[one["id"], one.get("isCut", False)] for one in result.get("passages", [])] for result in turn["results"]]
        for turn in rollout.search_turns
    ]
    return {
        "segments": rollout.segments,
        "token_ids": rollout.response_ids,
        "mask": rollout.mask,
        "shown": shown,
    }


def compare():
    """Returns the number of cases, and those with different results."""
    with open(HERE / "rollouts.jsonl", encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    got = [(case, run(case)) for case in cases]
    return len(cases), [{**case, "got": rollout} for case, rollout in got if rollout != case["expected"]]


def test_rollout():
    number, different = compare()
    assert number > 0
    assert different == []


if __name__ == "__main__":
    number, different = compare()
    for case in different[:3]:
        print(json.dumps(case, ensure_ascii=False))
    print(f"{number - len(different)} of {number} rollouts are equal token by token.")
    sys.exit(1 if different or number == 0 else 0)
