import { z } from 'zod';
import { retrieveResponseSchema, type RetrieveRequest, type RetrieveResponse } from './protocol.js';
import type { RetrievedPassage, Retriever } from './retriever.js';
import { requireInteger } from './top-k.js';
import { splitTitle } from './words.js';

export interface RemoteRetrieverOptions {
  /** Full address, e.g. `http://127.0.0.1:8000/retrieve`. */
  url: string;
  /** Longest wait for one answer, milliseconds; default 30,000. */
  timeoutMs?: number;
}

/**
 * A retriever on a server that speaks Search-R1's protocol; one request for each call of `retrieve`. A document without id
 * takes its title for one, a missing score becomes 1 / rank. Rejects when the server is late, answers with another status than
 * 200, or with something else than the protocol says.
 */
export function createRemoteRetriever(options: RemoteRetrieverOptions): Retriever {
  const { url, timeoutMs = 30_000 } = options;
  requireInteger('timeoutMs', timeoutMs);
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : '')) {
    throw new TypeError(`Expected url to be an http or https address, but got ${url}.`);
  }
  return {
    name: 'remote',
    retrieve: async (queries, { topK, signal }) => {
      requireInteger('topK', topK);
      signal?.throwIfAborted();
      if (queries.length === 0) return [];
      const body: RetrieveRequest = { queries: [...queries], topk: topK, return_scores: true };
      const timeout = AbortSignal.timeout(timeoutMs);
      const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
      const { result } = await post(url, body, either).catch((error: unknown) => {
        signal?.throwIfAborted();
        if (timeout.aborted)
          throw new DOMException(`Expected an answer from ${url} within ${timeoutMs} ms.`, 'TimeoutError');
        throw error;
      });
      if (result.length !== queries.length) {
        throw new Error(`Expected ${queries.length} results from ${url}, but got ${result.length}.`);
      }
      return result.map((documents) => documents.slice(0, topK).map(toRetrieved));
    },
  };
}

async function post(url: string, body: RetrieveRequest, signal: AbortSignal): Promise<RetrieveResponse> {
  const headers = { 'content-type': 'application/json' };
  const asked = fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal });
  const answered = asked.then(async (response) => ({ status: response.status, text: await response.text() }));
  const { status, text } = await answered.catch((cause: unknown) => {
    throw new Error(`Expected a retrieval server at ${url}, but it can't be reached. Is it running?`, {
      cause,
    });
  });
  if (status !== 200) throw new Error(`Expected status 200 from ${url}, but got ${status}: ${excerpt(text)}`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new Error(`Expected JSON from ${url}, but got: ${excerpt(text)}`, { cause });
  }
  const parsed = retrieveResponseSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new Error(
    `Expected Search-R1's retrieval protocol from ${url}, but: ${z.prettifyError(parsed.error)}`,
  );
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

function excerpt(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}
