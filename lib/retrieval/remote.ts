import { z } from 'zod';
import { titleSchema } from '../data/flashrag-text.js';
import { splitContents, withTitle } from '../data/passage.js';
import { splitCredentials } from '../io/credentials.js';
import { parseAnswer, requestJson, type JsonRequest } from '../io/http.js';
import { boundedArray } from '../io/json.js';
import { requireInteger, type RetrievedPassage, type Retriever } from './retriever.js';

/**
 * Search-R1's retrieval protocol: `POST /retrieve {"queries": [..], "topk": 3,
 * "return_scores": true}` returns `{"result": [[{"document": {"id", "contents"},
 * "score"}]]}`, one list per query. Source: PeterGriffinJin/Search-R1,
 * search_r1/search/retrieval_server.py.
 */
export const retrieveRequestSchema = z.strictObject(
  {
    queries: boundedArray(z.string()).refine(({ length }) => length > 0, 'Expected a query'),
    // Python clients send null for unset options.
    topk: z.int().min(1).nullish(),
    return_scores: z.boolean().nullish(),
  },
  {
    error: ({ code, keys }) =>
      code === 'unrecognized_keys'
        ? `Expected only queries, topk and return_scores, but got ${JSON.stringify(keys)}`
        : undefined,
  },
);

const responseSchema = z.object({
  result: boundedArray(
    boundedArray(
      z.object({
        // FlashRAG has numeric ids; web-search servers send neither id nor score.
        document: z.object({
          id: z.union([z.string(), z.number()]).nullish(),
          contents: z.string(),
          title: titleSchema,
        }),
        score: z.number().nullish(),
      }),
    ),
  ),
});
type Result = z.infer<typeof responseSchema>['result'];

interface RemoteRetrieverOptions extends Partial<
  Pick<JsonRequest, 'token' | 'retries' | 'backOffMs' | 'maxResponseBytes'>
> {
  /** The full address, such as `http://127.0.0.1:8000/retrieve`. */
  url: string;
  /** Timeout including retries. */
  timeoutMs?: number;
}

/**
 * A retriever on a server with Search-R1's protocol; each call of `retrieve` is one
 * request. A document without id gets its title as id, a missing score is 1 / rank.
 * Rejects on timeout, on any status but 200, and on responses that violate the protocol:
 * a wrong number of results, or unsorted ones.
 */
export function createRemoteRetriever(options: RemoteRetrieverOptions): Retriever {
  const { url, token, timeoutMs = 30_000, retries = 2 } = options;
  const { backOffMs = 200, maxResponseBytes = 1 << 26 } = options;
  const { shown: safeUrl } = splitCredentials(url);
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ''))
    throw new TypeError(`Expected url to be an http or https address, but got ${safeUrl}.`);
  return {
    name: 'remote',
    retrieve: async (queries, { topK, signal }) => {
      requireInteger('topK', topK);
      signal?.throwIfAborted();
      if (queries.length === 0) return [];
      const timeout = AbortSignal.timeout(timeoutMs);
      const response = requestJson(url, {
        body: { queries, topk: topK, return_scores: true },
        // After a failed batch, the caller sends each query separately.
        retries: queries.length === 1 ? retries : 0,
        token,
        backOffMs,
        maxResponseBytes,
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        server: 'a retrieval server',
      });
      const json = await response.catch((error: unknown) => {
        signal?.throwIfAborted();
        if (timeout.aborted)
          throw new DOMException(
            `Expected an answer from ${safeUrl} within ${timeoutMs} ms.`,
            'TimeoutError',
          );
        throw error;
      });
      const lists = parseResult(json, { url: safeUrl, numQueries: queries.length, topK });
      return lists.map((documents) => documents.map(toRetrieved));
    },
  };
}

function parseResult(
  json: unknown,
  { url, numQueries, topK }: { url: string; numQueries: number; topK: number },
): Result {
  const { result } = parseAnswer(
    responseSchema,
    json,
    `Search-R1's retrieval protocol from ${url}`,
  );
  if (result.length !== numQueries)
    throw new Error(`Expected ${numQueries} results from ${url}, but got ${result.length}.`);
  for (const [i, list] of result.entries()) {
    if (list.length > topK)
      throw new Error(
        `Expected at most ${topK} passages for query ${i} from ${url}, but got ${list.length}.`,
      );
    const scores = list.flatMap(({ score }) => score ?? []);
    const worse = scores.findIndex((score, at) => at > 0 && score > scores[at - 1]);
    if (worse > 0)
      throw new Error(
        `Expected the best passage of query ${i} from ${url} first, but score ${scores[worse]} comes after ${scores[worse - 1]}. Does the server return distances?`,
      );
  }
  return result;
}

function toRetrieved({ document, score }: Result[number][number], i: number): RetrievedPassage {
  const contents = withTitle(document.contents, document.title);
  const { title, text } = splitContents(contents);
  return {
    passage: { id: String(document.id ?? (title || contents)), contents, title, text },
    score: score ?? 1 / (i + 1),
  };
}
