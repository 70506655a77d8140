"""
Search-R1's retrieval protocol in Python: `faiss_peer.py serve FILE` answers from an exact FAISS index, with FastAPI as Search-R1's own
server does; `faiss_peer.py ask URL QUERY ...` sends what its generation loop sends. FILE holds passages, their vectors and those of the queries.
"""
import json
import sys


def serve(path):
    import faiss
    import numpy as np
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    with open(path) as file:
        data = json.load(file)
    vectors = np.array(data["vectors"], dtype=np.float32)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)

    class Request(BaseModel):
        queries: list[str]
        topk: int = 3
        return_scores: bool = False

    app = FastAPI()

    @app.post("/retrieve")
    def retrieve(request: Request):
        asked = np.array([data["queries"][query] for query in request.queries], dtype=np.float32)
        scores, rows = index.search(asked, request.topk)
        documents = [[data["passages"][row] for row in found] for found in rows]
        if not request.return_scores:
            return {"result": documents}
        pairs = [zip(found, scores[i]) for i, found in enumerate(documents)]
        return {"result": [[{"document": d, "score": float(s)} for d, s in pair] for pair in pairs]}

    uvicorn.run(app, host="127.0.0.1", port=data["port"], log_level="error")


def ask(url, queries):
    import requests

    payload = {"queries": queries, "topk": 3, "return_scores": True}
    results = requests.post(url, json=payload).json()["result"]
    texts = []
    for found in results:
        contents = [item["document"]["contents"].split("\n") for item in found]
        texts.append([[lines[0], "\n".join(lines[1:])] for lines in contents])
    print(json.dumps(texts))


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1] == "serve" else ask(sys.argv[2], sys.argv[3:])
