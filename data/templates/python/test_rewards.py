"""Checks that this folder's package gives bit-identical rewards to the TypeScript library's.

    python3 tests/test_rewards.py          or          pytest tests
"""

import json
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from parallelsearch.rewards import compute_score  # noqa: E402


def bits(rewards):
    return {name: struct.pack(">d", value) for name, value in rewards.items()}


def compare():
    """Returns the number of cases, and those whose rewards differ. The first line has the weights, each other line a case."""
    with open(HERE / "rewards.jsonl", encoding="utf-8") as file:
        reward_kwargs = json.loads(next(file))["reward_kwargs"]
        cases = [json.loads(line) for line in file]
    different = []
    for case in cases:
        rewards = compute_score(
            "test", case.get("solution_str"), case["ground_truth"], {"segments": case.get("segments")}, **reward_kwargs
        )
        if bits(rewards) != bits(case["expected"]):
            different.append({**case, "got": rewards})
    return len(cases), different


def test_rewards():
    number, different = compare()
    assert number > 0
    assert different == []


if __name__ == "__main__":
    number, different = compare()
    for case in different[:5]:
        print(json.dumps(case, ensure_ascii=False))
    print(f"{number - len(different)} of {number} rewards are equal bit by bit.")
    sys.exit(1 if different or number == 0 else 0)
