"""bm25s' side of `bench/bm25.ts`: reads one JSON request a line and answers with one, until the input ends.

    {"do": "index", "corpus": FILE}             -> {"seconds": ...}
    {"do": "search", "queries": [..], "k": N}   -> {"seconds": ..., "indices": [[...]], "scores": [[...]]}

Seconds are of the processor, of all threads. Words are what white space parts, as on the other side.
"""

import json
import sys
import time

import bm25s

index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)


def tokens(texts):
    return bm25s.tokenize(texts, stopwords=None, token_pattern=r"\S+", lower=False, show_progress=False)


def search(queries, k):
    indices, scores = index.retrieve(tokens(queries), k=k, show_progress=False, n_threads=0)
    return {"indices": indices.tolist(), "scores": scores.tolist()}


for line in sys.stdin:
    request = json.loads(line)
    kind = request.pop("do")
    if kind == "index":
        with open(request["corpus"], encoding="utf-8") as file:
            texts = [row.rstrip("\n") for row in file]
    start = time.process_time()
    reply = {}
    if kind == "index":
        index.index(tokens(texts), show_progress=False)
    else:
        reply = search(**request)
    print(json.dumps({**reply, "seconds": time.process_time() - start}), flush=True)
