"""The rewards of Eq. 3 to 7, bit-identical to the TypeScript library's (`lib/rewards`), as `tests/test_rewards.py` checks."""

import re

from parallelsearch.tags import executed_searches, final_answer, is_well_formed, split_transcript

# string.punctuation, and articles as whole words, as in SQuAD's script.
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_ARTICLES = re.compile(r"(?<!\w)(?:a|an|the)(?!\w)")


def normalize_answer(text):
    """Lower-cases, drops punctuation and articles, and collapses white space, in this order."""
    return " ".join(_ARTICLES.sub(" ", _PUNCTUATION.sub("", text.lower())).split())


def exact_match(answer, golden_answers):
    """Outcome reward r_o (Eq. 3)."""
    if answer is None:
        return 0.0
    normalized = normalize_answer(answer)
    return 1.0 if any(normalize_answer(golden) == normalized for golden in golden_answers) else 0.0


def decomposition(searches, shape, *, lambda_d, alpha, decomposed_by):
    """Decomposition reward r_d (Eq. 4): for decomposing parallelizable questions, and for not decomposing others."""
    considered = searches[:1] if decomposed_by == "first-turn" else searches
    is_parallelizable = shape == "parallelizable"
    if any(len(queries) > 1 for queries in considered) != is_parallelizable:
        return 0.0
    return alpha * lambda_d if is_parallelizable else lambda_d


def search_count(searches, shape, *, lambda_s, search_count_shifted):
    """Search-count reward r_s (Eq. 5): parallelizable and single-hop questions need one search, others two or more."""
    n = len(searches)
    distance = abs(n - 1) if shape in ("parallelizable", "single_hop") else abs(min(n, 2) - 2)
    return (lambda_s if search_count_shifted else 0.0) - lambda_s * distance


def format_reward(answer, outcome, well_formed, *, lambda_f, final_format_score):
    """Format reward r_f (Eq. 6): -lambda_f for a right answer in a wrong format, +lambda_f for a wrong answer in the right format.

    final_format_score: reward for a wrong answer in a wrong format; 0 in Eq. 6.
    """
    if outcome == 1:
        return 0.0 if well_formed else 0.0 - lambda_f
    if well_formed:
        return lambda_f
    return 0.0 if answer is None else final_format_score


def compute_score(
    data_source,
    solution_str,
    ground_truth,
    extra_info=None,
    *,
    lambda_d=0.15,
    lambda_s=0.35,
    lambda_f=0.1,
    final_format_score=0.0,
    alpha=3.0,
    search_count_shifted=False,
    decomposed_by="any",
    query_separator=None,
    **_,
):
    """The reward of a response, with verl's signature; the keywords are `reward_kwargs` in its configuration.

    ground_truth: {"target": right answers, "shape": "parallelizable", "sequential", "hybrid", "single_hop" or None}.
    extra_info: the response is read from its "segments", pairs (kind, text), if present; otherwise `solution_str` is split.
    query_separator: separates sub-queries. Default: a comma if results are labelled with queries, else "##".
    Returns {"score": r (Eq. 7), "outcome": r_o, "decomposition": r_d, "search_count": r_s, "format": r_f}.
    """
    segments = (extra_info or {}).get("segments")
    if segments is None:
        segments = split_transcript(solution_str)
    shape = ground_truth["shape"]
    searches = executed_searches(segments, query_separator)
    answer = final_answer(segments)
    outcome = exact_match(answer, ground_truth["target"])
    parts = {
        "outcome": outcome,
        "decomposition": decomposition(
            searches, shape, lambda_d=lambda_d, alpha=alpha, decomposed_by=decomposed_by
        ),
        "search_count": search_count(
            searches, shape, lambda_s=lambda_s, search_count_shifted=search_count_shifted
        ),
        "format": format_reward(
            answer,
            outcome,
            is_well_formed(segments, query_separator),
            lambda_f=lambda_f,
            final_format_score=final_format_score,
        ),
    }
    # Not sum(), which from Python 3.12 on is more exact than repeated addition.
    score = parts["outcome"] + parts["decomposition"] + parts["search_count"] + parts["format"]
    return {"score": score, **parts}
