import { z } from 'zod';
import { splitTitle } from './words.js';
import { type RetrievedPassage, type Retriever, requireInteger } from './retriever.js';
import { requestJson } from '../io/http.js';

//==== lib/retrieval/protocol.ts
/**
 * Search-R1's retrieval protocol: `POST /retrieve {"queries": [..], "topk": 3,
 * "return_scores": true}` answered by `{"result": [[{"document": {"id", "contents"},
 * "score"}]]}`, one list for each query. Source: PeterGriffinJin/Search-R1,
 * search_r1/search/retrieval_server.py.
 */
export const retrieveRequestSchema = z.object({
  queries: z.array(z.string()).min(1),
  topk: z.int().min(1).optional(),
  return_scores: z.boolean().optional(),
});

/**
 * Ids may be numbers in FlashRAG's corpora, and web-search servers of the same protocol
 * send neither id nor score.
 */
const documentSchema = z.object({
  id: z.union([z.string(), z.number()]).optional(),
  contents: z.string(),
});

export const retrieveResponseSchema = z.object({
  result: z.array(z.array(z.object({ document: documentSchema, score: z.number().optional() }))),
});

export type RetrieveRequest = z.infer<typeof retrieveRequestSchema>;
export type RetrieveResponse = z.infer<typeof retrieveResponseSchema>;

//==== lib/retrieval/remote.ts
export interface RemoteRetrieverOptions {
  /** Full address, e.g. `http://127.0.0.1:8000/retrieve`. */
  url: string;
  /** What a server that asks for one gets as `Authorization: Bearer TOKEN`. */
  token?: string;
  /** Longest wait for an answer, milliseconds, all tries together; default 30,000. */
  timeoutMs?: number;
  /**
   * How often a single query is tried again where the server is busy or can't be reached;
   * default 2.
   */
  retries?: number;
  /**
   * Wait before the first retry, milliseconds, twice as long before each other; default
   * 200.
   */
  backOffMs?: number;
  /** Largest answer that is read, bytes; default 64 MiB. */
  maxResponseBytes?: number;
}

/**
 * A retriever on a server that speaks Search-R1's protocol; one request for each call
 * of `retrieve`, and for a single query some more where the server is busy. A document
 * without id takes its title for one, a missing score becomes 1 / rank. Rejects when the
 * server is late, answers with another status than 200, with something else than the
 * protocol says, with other numbers of results than were asked for, or with results that
 * are not the best first.
 */
export function createRemoteRetriever(options: RemoteRetrieverOptions): Retriever {
  const {
    url,
    token,
    timeoutMs = 30_000,
    retries = 2,
    backOffMs = 200,
    maxResponseBytes = 1 << 26,
  } = options;
  Object.entries({ timeoutMs, maxResponseBytes }).forEach((entry) => requireInteger(...entry));
  Object.entries({ retries, backOffMs }).forEach(([name, value]) => requireInteger(name, value, 0));
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : '')) {
    throw new TypeError(`Expected url to be an http or https address, but got ${url}.`);
  }
  const ask = async (
    body: RetrieveRequest,
    signal: AbortSignal,
  ): Promise<RetrieveResponse['result']> => {
    const limits = { backOffMs, maxResponseBytes, signal };
    // Of several queries that fail, the caller asks for each by itself.
    const mostRetries = body.queries.length === 1 ? retries : 0;
    const request = { body, token, retries: mostRetries, ...limits, server: 'a retrieval server' };
    return readAnswer(url, await requestJson(url, request), body);
  };
  return {
    name: 'remote',
    retrieve: async (queries, { topK, signal }) => {
      requireInteger('topK', topK);
      signal?.throwIfAborted();
      if (queries.length === 0) return [];
      const timeout = AbortSignal.timeout(timeoutMs);
      const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
      const body = { queries: [...queries], topk: topK, return_scores: true };
      const lists = await ask(body, either).catch((error: unknown) => {
        signal?.throwIfAborted();
        if (timeout.aborted)
          throw new DOMException(
            `Expected an answer from ${url} within ${timeoutMs} ms.`,
            'TimeoutError',
          );
        throw error;
      });
      return lists.map((documents) => documents.map(toRetrieved));
    },
  };
}

/** The lists of an answer, one a query and each the best first. */
function readAnswer(
  url: string,
  json: unknown,
  { queries, topk = Infinity }: RetrieveRequest,
): RetrieveResponse['result'] {
  const parsed = retrieveResponseSchema.safeParse(json);
  if (!parsed.success)
    throw new Error(
      `Expected Search-R1's retrieval protocol from ${url}, but: ${z.prettifyError(parsed.error)}`,
    );
  const { result } = parsed.data;
  if (result.length !== queries.length)
    throw new Error(`Expected ${queries.length} results from ${url}, but got ${result.length}.`);
  for (const [i, list] of result.entries()) {
    if (list.length > topk)
      throw new Error(
        `Expected at most ${topk} passages for query ${i} from ${url}, but got ${list.length}.`,
      );
    const scores = list.flatMap(({ score }) => score ?? []);
    const worse = scores.findIndex((score, at) => at > 0 && score > scores[at - 1]);
    if (worse > 0)
      throw new Error(
        `Expected the best passage of query ${i} from ${url} first, but score ${scores[worse]} comes after ${scores[worse - 1]}. Does the server give distances?`,
      );
  }
  return result;
}

function toRetrieved(
  { document, score }: RetrieveResponse['result'][number][number],
  i: number,
): RetrievedPassage {
  const { contents } = document;
  const { title, text } = splitTitle(contents);
  return {
    passage: { id: String(document.id ?? title), contents, title, text },
    score: score ?? 1 / (i + 1),
  };
}
