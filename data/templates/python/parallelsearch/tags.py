"""The tag grammar of a transcript, and how to read a response; the same as `lib/text/tags.ts` and `lib/text/response.ts`.

    <think> reasoning </think>
    <search> sub-query ## sub-query </search>
    <information> passages </information>      written by the environment only
    <answer> short answer </answer>

A segment is a pair (kind, text) with the kind "policy", "information" or "notice", which records who wrote the text.
"""

import re
from typing import NamedTuple

# JavaScript's white space; Python's \s differs.
WHITE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
WHITE_RUN = re.compile(f"[{WHITE}]+")
_EDGES = re.compile(f"^[{WHITE}]+|[{WHITE}]+\\Z")
_TAG = re.compile(r"<(/?)(think|search|information|answer)>")

QUERY_SEPARATOR = "##"
STOP_STRINGS = ["</search>", "</answer>"]
# What the environment says after an invalid action: to small policies, and to real language models.
NOTICE_SHORT = "\nMy action is not correct. Let me rethink.\n"
NOTICE_FULL = (
    "\nMy previous action is invalid. To search, I should put the query between search tags; to give the final answer, "
    "I should put it between answer tags. Let me try again.\n"
)


def trim(text):
    return _EDGES.sub("", text)


class Block(NamedTuple):
    tag: str
    body: str
    start: int
    end: int


def parse_blocks(text):
    """The complete blocks, in order: an opening tag whose next tag is its closing tag. Anything else is stray text."""
    tags = list(_TAG.finditer(text))
    pairs = zip(tags, tags[1:])
    return [
        Block(opening[2], text[opening.end() : closing.start()], opening.start(), closing.end())
        for opening, closing in pairs
        if not opening[1] and closing[1] and opening[2] == closing[2]
    ]


def split_queries(body, separator=QUERY_SEPARATOR):
    """The sub-queries in the body of a search."""
    return [query for query in map(trim, body.split(separator)) if query]


class Action(NamedTuple):
    kind: str  # "search", "answer" or "invalid"
    queries: list
    end: int  # what follows is no part of it


def next_action(text, separator=QUERY_SEPARATOR):
    """The action of a generation: the block that the first </search> or </answer> closes."""
    closing = re.search(r"</(?:search|answer)>", text)
    if not closing:
        return Action("invalid", [], len(text))
    end = closing.end()
    blocks = parse_blocks(text[:end])
    if not blocks or blocks[-1].end != end:
        return Action("invalid", [], end)
    if blocks[-1].tag == "answer":
        return Action("answer", [], end)
    queries = split_queries(blocks[-1].body, separator)
    return Action("search" if queries else "invalid", queries, end)


def one_line(text):
    """Collapses white space and escapes tags, so that a passage can neither close its block nor act."""
    return trim(WHITE_RUN.sub(" ", escape_tags(text)))


def escape_tags(text):
    """Turns <answer> into (answer)."""
    return _TAG.sub(r"(\1\2)", text)


_OPEN_THINK = re.compile(f"<think>[{WHITE}]*\\Z")
_THINK = re.compile(f"[{WHITE}]*<think>")


def opened_think(prompt):
    """The <think> at the end of a prompt, or ''."""
    found = _OPEN_THINK.search(prompt)
    return found[0] if found else ""


def with_opening(opening, text):
    """Puts the prompt's <think> before the text, unless the text opens the block itself."""
    return text if _THINK.match(text) else opening + text


def join_policy_segments(segments):
    """Joins adjacent policy segments and drops prompts, except a <think> at the end of a chat template."""
    joined, opening = [], ""
    for kind, text in segments:
        if kind == "prompt":
            opening = opened_think(text)
        elif kind == "policy" and joined and joined[-1][0] == "policy":
            joined[-1] = (kind, joined[-1][1] + text)
        else:
            joined.append((kind, with_opening(opening, text) if kind == "policy" else text))
            opening = ""
    return joined


_LABELLED = re.compile(f'[{WHITE}]*(?:<information>)?[{WHITE}]*\\{{[{WHITE}]*"query"[{WHITE}]*:[{WHITE}]*\\[')


def infer_separator(segments):
    """A comma if results are labelled with their queries, as in RAG-R1; else "##"."""
    is_labelled = any(kind == "information" and _LABELLED.match(text) for kind, text in segments)
    return "," if is_labelled else QUERY_SEPARATOR


def executed_searches(segments, separator=None):
    """The sub-queries of each executed search: the last search before an information segment."""
    separator = separator or infer_separator(segments)
    runs = join_policy_segments(segments)
    searches = []
    for (kind, text), (following, _) in zip(runs, runs[1:]):
        if kind == "policy" and following == "information":
            bodies = [block.body for block in parse_blocks(text) if block.tag == "search"]
            searches.append(split_queries(bodies[-1], separator) if bodies else [])
    return [queries for queries in searches if queries]


def final_answer(segments):
    """The body of the policy's last answer, or None."""
    texts = [text for kind, text in join_policy_segments(segments) if kind == "policy"]
    answers = [block.body for text in texts for block in parse_blocks(text) if block.tag == "answer"]
    return trim(answers[-1]) if answers else None


_FOLLOWERS = {
    "start": ["think"],
    "think": ["search", "answer"],
    "search": ["information"],
    "information": ["think"],
    "answer": [],
}


def _tags_of(kind, text, separator):
    """The tags of a segment's blocks, or None if it is malformed."""
    if kind == "information":
        return ["information"]
    if kind == "notice" or re.search(r"</?information>", text):
        return None
    blocks = parse_blocks(text)
    ends = [0, *(block.end for block in blocks)]
    starts = [*(block.start for block in blocks), len(text)]
    if any(trim(text[end:start]) for end, start in zip(ends, starts)):
        return None
    if any(block.tag == "search" and not split_queries(block.body, separator) for block in blocks):
        return None
    return [block.tag for block in blocks]


def is_well_formed(segments, separator=None):
    """Whether a response follows the format of Eq. 6."""
    separator = separator or infer_separator(segments)
    last = "start"
    for kind, text in join_policy_segments(segments):
        tags = _tags_of(kind, text, separator)
        for tag in [None] if tags is None else tags:
            if tag not in _FOLLOWERS[last]:
                return False
            last = tag
    return last == "answer"


_OPENINGS = re.compile(
    f"(?<=</search>)[{WHITE}]*(?P<information><information>)"
    "|(?P<message>My previous action is invalid\\. If I want to search)"
    f"|{re.escape(trim(NOTICE_SHORT))}|{re.escape(trim(NOTICE_FULL))}"
)


def _ends_in_search(run):
    blocks = parse_blocks(run)
    return next_action(run).end == len(run) and bool(blocks) and blocks[-1].end == len(run)


def split_transcript(response):
    """Splits a response recorded as text into segments. Information directly after a search that ends a generation is the
    environment's; any other is the policy's. Known notices become notices.
    """
    segments = []
    closings = {"information": "</information>", "message": "Let me try again."}
    last = {name: response.rfind(closing) for name, closing in closings.items()}
    position = search_from = 0
    # Past the end of a generation, everything is the policy's own until a notice.
    has_gone_on = False
    while match := _OPENINGS.search(response, search_from):
        search_from = match.end()
        name = match.lastgroup
        if name and match.end() > last[name]:
            continue
        is_information = name == "information"
        has_gone_on = is_information and (
            has_gone_on or not _ends_in_search(response[position : match.start()])
        )
        if has_gone_on:
            continue
        end = match.end()
        if name:
            end = response.find(closings[name], end) + len(closings[name])
        if match.start() > position:
            segments.append(("policy", response[position : match.start()]))
        segments.append(("information" if is_information else "notice", response[match.start() : end]))
        position = search_from = end
    if position < len(response):
        segments.append(("policy", response[position:]))
    return segments
