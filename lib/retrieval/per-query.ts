const SLICE_MS = 25;

/**
 * Maps queries one after another on this thread, and lets other work (timers, an abort)
 * run every 25 ms. Rejects with the signal's reason once it is aborted.
 */
export async function perQuery<Q, R>(
  queries: readonly Q[],
  signal: AbortSignal | undefined,
  answer: (query: Q) => R,
): Promise<R[]> {
  const answers: R[] = [];
  let sliceStart = performance.now();
  for (const query of queries) {
    if (performance.now() - sliceStart > SLICE_MS) {
      await new Promise((resume) => setTimeout(resume, 0));
      sliceStart = performance.now();
    }
    signal?.throwIfAborted();
    answers.push(answer(query));
  }
  return answers;
}
