"""An agent loop for verl that searches in tags; `agent_loops.yaml` has its options and the retriever's address."""

import json
import os
from pathlib import Path
from uuid import uuid4

from parallelsearch.rollout import Rollout, RolloutOptions, plain_messages
from parallelsearch.search import retrieve
from parallelsearch.tags import STOP_STRINGS
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput
from verl.utils.profiler import simple_timer


TOKENS = Path(__file__).resolve().parents[1] / "rollouts" / "tokens"


class SearchAgentLoop(AgentLoopBase):
    """Rolls out one response; tokens of passages and notices have mask 0."""

    def __init__(self, *args, retriever, timeout_seconds, rollout, record_tokens=False, **kwargs):
        super().__init__(*args, **kwargs)
        self.record_tokens = record_tokens
        self.options = RolloutOptions(**rollout)
        self.retrieve = lambda queries: retrieve(
            retriever, queries, top_k=self.options.top_k, timeout_seconds=timeout_seconds
        )
        config = self.rollout_config
        self.max_length = config.max_model_len or config.prompt_length + config.response_length

    async def run(self, sampling_params, **kwargs):
        prompt_ids = await self.ct_build_initial_tokens(plain_messages(kwargs["raw_prompt"], self.tokenizer))
        rollout = Rollout(prompt_ids, self.tokenizer, self.options, self.max_length)
        request_id = uuid4().hex
        sampling = {**sampling_params, "stop": STOP_STRINGS, "max_tokens": self.options.max_new_tokens}
        metrics, has_log_probs, steps = {}, True, {}
        while rollout.is_open():
            with simple_timer("generate_sequences", metrics):
                output = await self.server_manager.generate(
                    request_id=request_id, prompt_ids=rollout.token_ids, sampling_params=dict(sampling)
                )
            has_log_probs = has_log_probs and output.log_probs is not None
            # The version of the weights, for trainers that generate ahead.
            steps.setdefault("min_global_steps", output.extra_fields.get("min_global_steps"))
            steps["max_global_steps"] = output.extra_fields.get("max_global_steps")
            queries = rollout.add_generation(output.token_ids, output.log_probs)
            if queries:
                with simple_timer("tool_calls", metrics):
                    rollout.add_information(await self.loop.run_in_executor(None, self.retrieve, queries))
        longest = self.rollout_config.response_length
        if self.record_tokens:
            self.record(rollout, longest, has_log_probs)
        return AgentLoopOutput(
            prompt_ids=rollout.prompt_ids,
            response_ids=rollout.response_ids[:longest],
            response_mask=rollout.mask[:longest],
            response_logprobs=rollout.log_probs[:longest] if has_log_probs else None,
            num_turns=1 + len(rollout.segments),
            metrics=metrics,
            # For the reward: segments record who wrote what.
            extra_fields={"segments": rollout.segments, "turn_scores": [], "tool_rewards": [], **steps},
        )

    @staticmethod
    def record(rollout, longest, has_log_probs):
        """Appends the trained tokens to this process's file, for `parallelsearch audit`."""
        row = {
            "prompt_ids": rollout.prompt_ids,
            "response_ids": rollout.response_ids[:longest],
            "response_mask": rollout.mask[:longest],
            **({"response_logprobs": rollout.log_probs[:longest]} if has_log_probs else {}),
            "segments": rollout.segments,
        }
        TOKENS.mkdir(parents=True, exist_ok=True)
        with (TOKENS / f"{os.uname().nodename}-{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
