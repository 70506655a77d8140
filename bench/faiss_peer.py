"""FAISS's side of `bench/hnsw.ts`: reads JSON requests line by line and answers each with a line, until the input ends.

    python faiss_peer.py DIMENSIONS

    {"do": "index", "vectors": FILE, "queries": FILE, "m": M, "efConstruction": N, "topK": K}
        -> {"seconds": ..., "truth": the nearest neighbours of each query, by exact search}
    {"do": "match", "recall": R}  -> the smallest efSearch with this recall: {"efSearch": ..., "recall": ...}
    {"do": "search"}              -> {"milliseconds": of each query}
"""

import json
import sys
import time

import faiss
import numpy as np

faiss.omp_set_num_threads(1)
dimensions = int(sys.argv[1])
state = {}


def index(vectors, queries, m, efConstruction, topK):
    vectors, queries = (np.fromfile(file, dtype=np.float32).reshape(-1, dimensions) for file in (vectors, queries))
    exact = faiss.IndexFlatIP(dimensions)
    exact.add(vectors)
    truth = exact.search(queries, topK)[1]
    start = time.process_time()
    graph = faiss.IndexHNSWFlat(dimensions, m, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = efConstruction
    graph.add(vectors)
    seconds = time.process_time() - start
    state.update(graph=graph, queries=queries, truth=truth, topK=topK)
    return {"seconds": seconds, "truth": truth.tolist()}


def recall():
    found = state["graph"].search(state["queries"], state["topK"])[1]
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(found, state["truth"])]))


def match(**wanted):
    efSearch = state["topK"]
    state["graph"].hnsw.efSearch = efSearch
    while recall() < wanted["recall"] and efSearch < 1024:
        efSearch += max(1, efSearch // 16)
        state["graph"].hnsw.efSearch = efSearch
    return {"efSearch": efSearch, "recall": recall()}


def search():
    milliseconds = []
    for query in state["queries"]:
        start = time.process_time()
        state["graph"].search(query[None], state["topK"])
        milliseconds.append(1e3 * (time.process_time() - start))
    return {"milliseconds": milliseconds}


ACTIONS = {"index": index, "match": match, "search": search}
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(ACTIONS[request.pop("do")](**request)), flush=True)
