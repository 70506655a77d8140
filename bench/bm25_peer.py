"""bm25s' side of `bench/bm25.ts`: indexes a passage file, answers questions, prints one JSON object.

Seconds are of the processor, of all threads. Words are what a lower-case text has between other characters.
"""

import json
import resource
import sys
import time

import bm25s

corpus, questions, k = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8")), int(sys.argv[3])


def tokens(texts):
    return bm25s.tokenize(texts, stopwords=None, token_pattern=r"\w+", show_progress=False)


start = time.process_time()
with open(corpus, encoding="utf-8") as file:
    texts = [json.loads(row)["contents"] for row in file]
index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
index.index(tokens(texts), show_progress=False)
seconds = time.process_time() - start
index_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
milliseconds, scores = [], []
for question in questions:
    start = time.process_time()
    _, best = index.retrieve(tokens([question]), k=k, show_progress=False, n_threads=0)
    milliseconds.append(1e3 * (time.process_time() - start))
    scores.append(best[0].tolist())
print(json.dumps({"seconds": seconds, "megabytes": index_mb, "milliseconds": milliseconds, "scores": scores}))
