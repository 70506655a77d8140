"""Algorithm 1 for one response with any generator: `lib/rollout/rollout.ts`, turn by turn.

Token ids are written once, by whatever produced them, and never re-encoded; the mask is 1 for the policy's.
"""

import re
from dataclasses import dataclass

from parallelsearch.search import count_shown, cut_results, print_results, wrap_results
from parallelsearch.tags import (
    NOTICE_FULL,
    QUERY_SEPARATOR,
    STOP_STRINGS,
    escape_tags,
    next_action,
    opened_think,
    with_opening,
)


def plain_messages(messages, tokenizer):
    """Puts a space into names of special tokens in messages, because chat templates turn such names into the tokens."""
    added = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special]
    names = [name for name in {*tokenizer.all_special_tokens, *added} if len(name) > 1]
    inside = [f"(?<={re.escape(name[0])})(?={re.escape(name[1:])})" for name in names]
    breaks = re.compile("|".join(["(?!)", *inside]))
    return [{**message, "content": breaks.sub(" ", message["content"])} for message in messages]


@dataclass(frozen=True)
class RolloutOptions:
    """The rollout settings of the TypeScript library (`lib/rollout/options.ts`)."""

    max_search_turns: int = 4
    top_k: int = 3
    split_queries: bool = True
    query_separator: str = QUERY_SEPARATOR
    max_sub_queries: int = 8
    max_new_tokens: int = 500
    max_information_tokens: int = 500
    information_cut: str = "passage"  # or "query", "raw"
    information_form: str = "lines"  # or "json"
    max_passage_words: int = None
    notice: str = NOTICE_FULL


class Rollout:
    """A response in progress. While `is_open()`, pass each generation to `add_generation`, and the results of the queries
    that it returns to `add_information`.
    """

    def __init__(self, prompt_ids, tokenizer, options, max_length):
        """max_length: maximum tokens of a context and its continuation."""
        self.prompt_ids = list(prompt_ids)
        self.tokenizer = tokenizer
        self.options = options
        self.max_length = max_length
        self.response_ids = []
        self.mask = []
        self.log_probs = []
        self.segments = []
        self.segment_ids = []
        self.search_turns = []
        self.finish = "budget"
        # A chat template may end with the tag that opens the first thought.
        self._opening = opened_think(self._decode(self.prompt_ids[-8:]))
        self.num_generations = 0
        self._has_ended = False

    @property
    def token_ids(self):
        return self.prompt_ids + self.response_ids

    def is_open(self):
        """Whether another generation follows; there must be room for the longest one."""
        if not self._has_ended and len(self.token_ids) + self.options.max_new_tokens >= self.max_length:
            self._has_ended, self.finish = True, "length"
        return not self._has_ended

    def add_generation(self, token_ids, log_probs=None):
        """Adds a generation, up to a stop string. Returns the queries to search for; empty without a search."""
        token_ids = self._cut(list(token_ids))
        text = self._decode(token_ids)
        self._append("policy", text, token_ids, log_probs and list(log_probs)[: len(token_ids)])
        self.num_generations += 1
        action = next_action(text, self.options.query_separator)
        # After the last search turn, one more generation may answer; a search in it is not executed.
        if action.kind == "answer":
            self.finish = "answer"
        if action.kind == "answer" or self.num_generations > self.options.max_search_turns:
            self._has_ended = True
            return []
        if action.kind == "invalid":
            self._append("notice", self.options.notice)
            return []
        queries = action.queries if self.options.split_queries else [" ".join(action.queries)]
        self._queries = queries[: self.options.max_sub_queries]
        return self._queries

    def add_information(self, results):
        """Appends the results, cut to the limit. results: as returned by `retrieve`."""
        ids, text, shown = self._fit(results)
        self._append("information", text, ids)
        recorded = [
            {"status": "failed", "reason": "the search engine gave no answer."}
            if passages is None
            else {
                "status": "ok",
                "passages": [
                    {"id": id, "title": title, "score": score, **({"isCut": True} if is_cut and i == depth else {})}
                    for i, (title, _, id, score) in enumerate(passages[:depth], 1)
                ],
            }
            for passages, (depth, is_cut) in zip(results, shown)
        ]
        self.search_turns.append({"queries": self._queries, "results": recorded})

    def _fit(self, results):
        """Token ids and text of the block and, for each result, the number of passages shown and whether the last is cut."""
        options = self.options
        depth, limit = options.top_k, options.max_information_tokens
        whole = self._print(results, depth)
        text, ids = self._wrap(whole)
        if options.information_cut == "passage":
            while depth > 1 and len(ids) > limit:
                depth -= 1
                text, ids = self._wrap(self._print(results, depth))
        if len(ids) <= limit or options.information_cut == "passage":
            return ids, text, [(depth, False)] * len(results)
        if options.information_cut == "query":
            # Tags and labels count, too; a cut text can have more tokens next to another.
            share = (limit - len(self._wrap([""] * len(whole))[1])) // len(whole)
            while True:
                texts = [self._cut_text(result, max(0, share)) for result in whole]
                text, ids = self._wrap(texts)
                if len(ids) <= limit or share <= 0:
                    break
                share -= 1
        if len(ids) > limit:
            block, ids = text, ids[:limit]
            text = self._decode(ids)
            texts = cut_results(whole if options.information_cut == "raw" else texts, block, text, options.information_form)
        return ids, text, [count_shown(*pair, options.information_form) for pair in zip(whole, texts)]

    def _print(self, results, depth):
        return print_results(results, depth, self.options.max_passage_words, self.options.information_form)

    def _wrap(self, texts):
        text = wrap_results(texts, self._queries, self.options.information_form)
        return text, self._encode(text)

    def _cut_text(self, text, max_tokens):
        ids = self._encode(text)
        # Decoding with a normalising tokenizer could produce a tag.
        return text if len(ids) <= max_tokens else escape_tags(self._decode(ids[:max_tokens]))

    def _append(self, kind, text, token_ids=None, log_probs=None):
        ids = self._encode(text) if token_ids is None else token_ids
        is_first = kind == "policy" and not self.segments
        self.segments.append([kind, with_opening(self._opening, text) if is_first else text])
        self.segment_ids.append(ids)
        self.response_ids += ids
        self.mask += [1 if kind == "policy" else 0] * len(ids)
        self.log_probs += log_probs or [0.0] * len(ids)

    def _cut(self, token_ids):
        """Drops what an engine generated after the token that completes a stop string."""
        has_stopped = lambda end: any(stop in self._decode(token_ids[:end]) for stop in STOP_STRINGS)
        if not has_stopped(len(token_ids) - 1):
            return token_ids
        before, end = 0, len(token_ids) - 1
        while end - before > 1:
            middle = (before + end) // 2
            before, end = (before, middle) if has_stopped(middle) else (middle, end)
        return token_ids[:end]

    def _decode(self, token_ids):
        return self.tokenizer.decode(token_ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)

    def _encode(self, text):
        """Never yields a special token: its name in a passage becomes ordinary tokens."""
        return self.tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
