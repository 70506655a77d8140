"""The peers of `bench/bm25.ts`: reads JSON requests line by line and answers each with a line, until the input ends.

    python bm25_peer.py bm25s|tantivy

    {"do": "index", "corpus": FILE, "folder": FOLDER}  -> {"seconds": ..., "bytes": peak resident memory}
    {"do": "search", "questions": [...], "topK": K}     -> {"milliseconds": [...], "ids": [[...]], "scores": [[...]], "bytes": ...}

Times are processor times of all threads. Words are runs of word characters (`\w`) in the lower-cased text.
"""

import json
import os
import resource
import sys
import time


def read(corpus):
    with open(corpus, encoding="utf-8") as file:
        yield from map(json.loads, file)


class Bm25s:
    """In memory."""

    def __init__(self, corpus, folder):
        import bm25s

        self.tokens = lambda texts: bm25s.tokenize(texts, stopwords=None, token_pattern=r"\w+", show_progress=False)
        self.passages = list(read(corpus))
        self.index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        self.index.index(self.tokens([passage["contents"] for passage in self.passages]), show_progress=False)

    def search(self, question, k):
        found, scores = self.index.retrieve(self.tokens([question]), k=k, show_progress=False, n_threads=0)
        return [self.passages[i] for i in found[0]], scores[0].tolist()


class Tantivy:
    """On disk, with the passages. Lengths are rounded to a byte, so scores differ."""

    def __init__(self, corpus, folder):
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("id", stored=True, tokenizer_name="raw")
        schema.add_text_field("contents", stored=True, tokenizer_name="default", index_option="freq")
        os.makedirs(folder)
        self.index = tantivy.Index(schema.build(), path=folder)
        writer = self.index.writer(256_000_000)
        for passage in read(corpus):
            writer.add_document(tantivy.Document(id=passage["id"], contents=passage["contents"]))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()

    def search(self, question, k):
        hits = self.searcher.search(self.index.parse_query(question, ["contents"]), k, count=False).hits
        documents = [self.searcher.doc(address) for _, address in hits]
        passages = [{"id": found["id"][0], "contents": found["contents"][0]} for found in documents]
        return passages, [score for score, _ in hits]


engine = None


def index(**options):
    global engine
    start = time.process_time()
    engine = {"bm25s": Bm25s, "tantivy": Tantivy}[sys.argv[1]](**options)
    return {"seconds": time.process_time() - start}


def search(questions, topK):
    reply = {"milliseconds": [], "ids": [], "scores": []}
    for question in questions:
        start = time.process_time()
        passages, scores = engine.search(question, topK)
        reply["milliseconds"].append(1e3 * (time.process_time() - start))
        reply["ids"].append([passage["id"] for passage in passages])
        reply["scores"].append(scores)
    return reply


ACTIONS = {"index": index, "search": search}
for line in sys.stdin:
    request = json.loads(line)
    reply = ACTIONS[request.pop("do")](**request)
    reply["bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(reply), flush=True)
