"""Search-R1's retrieval protocol, and the information block made of its results."""

import http.client
import json
import logging
import os
import re
import time
import urllib.error
import urllib.request

from parallelsearch.tags import WHITE_RUN, escape_tags, one_line, trim

logger = logging.getLogger(__name__)
# Statuses of a busy server.
_BUSY = (429, 502, 503, 504)
# Bypasses any proxy of this machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_FAULTS = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError),
    http.client.HTTPException,
)
# The limit of the TypeScript library.
_LONGEST_ANSWER = 1 << 26
_FAILED = "Retrieval failed: the search engine gave no answer."


def retrieve(url, queries, *, top_k, timeout_seconds=10.0, retries=2):
    """The passages of each query, best first, as (title, text, id, score); None for a query whose search failed.

    All queries are sent in one request. A busy or unreachable server is retried, and queries that fail together are
    sent one by one. The environment variable RETRIEVAL_TOKEN is sent as the token.
    """
    deadline = time.monotonic() + timeout_seconds
    try:
        return _retrieve_all(url, queries, top_k, deadline, retries)
    except _FAULTS as error:
        logger.warning("Searching %s for %s failed: %s", url, queries, error)
    if len(queries) == 1 or time.monotonic() >= deadline:
        return [None] * len(queries)
    left = deadline - time.monotonic()
    return [
        passages
        for query in queries
        for passages in retrieve(url, [query], top_k=top_k, timeout_seconds=left / len(queries), retries=retries)
    ]


def _retrieve_all(url, queries, top_k, deadline, retries):
    body = json.dumps({"queries": queries, "topk": top_k, "return_scores": True}).encode()
    token = os.environ.get("RETRIEVAL_TOKEN")
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(url, body, headers)
    for tried in range(retries + 1):
        try:
            with _OPENER.open(request, timeout=max(0.1, deadline - time.monotonic())) as response:
                lists = json.loads(_read(response, deadline))["result"]
            _check(lists, queries, top_k)
            return [[_passage(item) for item in items] for items in lists]
        except urllib.error.URLError as error:
            may_pass = not isinstance(error, urllib.error.HTTPError) or error.code in _BUSY
            wait = 0.2 * 2**tried
            if not may_pass or tried == retries or time.monotonic() + wait >= deadline:
                raise
            time.sleep(wait)


def _read(response, deadline):
    answer = bytearray()
    while part := response.read1(1 << 16):
        answer += part
        if len(answer) > _LONGEST_ANSWER:
            raise ValueError(f"expected an answer of at most {_LONGEST_ANSWER} bytes")
        if time.monotonic() >= deadline:
            raise TimeoutError("expected all of the answer before the timeout")
    return answer


def _check(lists, queries, top_k):
    """Checks what the TypeScript library checks: one list per query, none too long, best passage first."""
    if len(lists) != len(queries):
        raise ValueError(f"expected {len(queries)} results, but got {len(lists)}")
    for items in lists:
        if len(items) > top_k:
            raise ValueError(f"expected at most {top_k} passages, but got {len(items)}")
        scores = [item["score"] for item in items if item.get("score") is not None]
        if scores != sorted(scores, reverse=True):
            raise ValueError("expected the best passage first, but the scores rise; does the server give distances?")


def _passage(item):
    return *_split_contents(item["document"]["contents"]), item["document"].get("id"), item.get("score")


def _split_contents(contents):
    """Splits contents into title, the first line without FlashRAG's quotes, and text; a single line is text without a title."""
    first, has_break, text = contents.partition("\n")
    if not trim(text):
        return "", trim(contents) if has_break else contents
    return re.sub(r'\A"(.*)"\Z', r"\1", trim(first)), trim(text)


def print_results(results, depth, max_passage_words=None, form="lines"):
    """Formats the results of each query: the first words of its `depth` best passages, numbered from 1."""
    return [_print_result(passages, depth, max_passage_words, form) for passages in results]


def wrap_results(texts, queries, form="lines"):
    """The environment's information block; "json" labels the texts with the queries, as in RAG-R1."""
    if form == "lines":
        return f"<information>{chr(10).join(texts)}</information>"
    labelled = json.dumps({"query": [escape_tags(query) for query in queries], "documents": texts}, indent=2)
    return f"\n<information>\n{labelled}\n</information>\n"


def _print_result(passages, depth, max_words, form):
    if passages is None:
        return _FAILED
    if not passages:
        return "" if form == "json" else "Nothing found."
    # RAG-R1's corpus has three spaces after the title.
    line = "Doc {}: {}   {}" if form == "json" else "Doc {}(Title: {}) {}"
    lines = (
        line.format(i, one_line(title), one_line(text if max_words is None else cut_words(text, max_words)))
        for i, (title, text, *_) in enumerate(passages[:depth], 1)
    )
    return "\n".join(map(trim, lines))


def cut_results(texts, block, cut, form):
    """The results' texts that remain in a block that was cut to its beginning."""
    position = block.find('"documents"') if form == "json" else len("<information>")
    left = []
    for text in texts:
        printed = json.dumps(text)[1:-1] if form == "json" else text
        position = block.find(printed, position)
        part = cut[position : position + len(printed)]
        left.append(_read_string(part) if form == "json" else part)
        position += len(printed)
    return left


def _read_string(part):
    """Unescapes the content of a JSON string, dropping an escape that was cut at the end."""
    return json.loads(f'"{_CUT_ESCAPE.sub(lambda found: found[1], part)}"', strict=False)


_CUT_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-f]{0,3})?\Z")


def count_shown(text, cut, form):
    """The number of passages that a cut leaves of a result's text, and whether the last one is cut."""
    lines, left = text.split("\n"), cut.split("\n")
    is_shown = re.match(r"Doc \d+:", left[-1]) if form == "json" else ")" in left[-1]
    depth = len(left) if is_shown else len(left) - 1
    return depth, bool(is_shown) and left[-1] != lines[len(left) - 1]


# Scripts without spaces: a word per character or run of Katakana. Thai and similar scripts would need a dictionary.
_CHARACTER = r"[\u3005\u3007\u3041-\u3096\u309d-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
_KATAKANA = r"\u30a1-\u30fa\u30fd-\u30ff\u31f0-\u31ff\u32d0-\u32fe\u3300-\u3357\uff66-\uff6f\uff71-\uff9d"
# Voicing marks and variants.
_MARKS = r"\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef"
_UNSPACED = re.compile(f"{_CHARACTER}[{_MARKS}]*|[{_KATAKANA}][{_KATAKANA}\u30fc\uff70\uff9e\uff9f{_MARKS}]*")
_PARTS = re.compile(f"{_UNSPACED.pattern}|(?:(?!{_CHARACTER}|[{_KATAKANA}]).)+", re.DOTALL)


def cut_words(text, max_words):
    """The first words of a text, joined by single spaces. Words are runs without spaces, runs of Katakana, Chinese characters."""
    kept, left = [], max_words
    for run in WHITE_RUN.split(trim(text)):
        if left <= 0:
            break
        starts = _word_starts(run)
        kept.append(run[: starts[left]] if left < len(starts) else run)
        left -= len(starts)
    return " ".join(kept)


def _word_starts(run):
    if not _UNSPACED.search(run):
        return [0]
    parts = [part.start() for part in _PARTS.finditer(run) if any(map(str.isalnum, part.group()))]
    return [0, *parts[1:]]
