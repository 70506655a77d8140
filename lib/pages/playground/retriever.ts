import type { Retriever } from '../../retrieval/retriever.js';

/** Waits. Rejects with the signal's reason when it is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}

/**
 * A retriever whose every request takes `delayMs` longer, as one behind a network does. The sub-queries of a turn travel in
 * one request, so that they wait together.
 */
export function delayRetriever(retriever: Retriever, delayMs: number): Retriever {
  return {
    name: retriever.name,
    retrieve: async (queries, options) => {
      await pause(delayMs, options.signal);
      return retriever.retrieve(queries, options);
    },
  };
}
