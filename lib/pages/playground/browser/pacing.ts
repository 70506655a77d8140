/** Slows a policy or a retriever down to the pace of a larger one. */
import type { Policy } from '../../../policy/policy.js';
import type { Retriever } from '../../../retrieval/retriever.js';

/** Waits. Rejects with the signal's reason when aborted. */
function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(resolve, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** Adds `delayMs` to every request; a turn's sub-queries share one. */
export const delayRetriever = (retriever: Retriever, delayMs: number): Retriever => ({
  ...retriever,
  retrieve: async (queries, options) => {
    await pause(delayMs, options.signal);
    return retriever.retrieve(queries, options);
  },
});

/** Spaces tokens evenly in time; 0 tokens per second means unlimited. */
export function pacePolicy(policy: Policy, tokensPerSecond: number): Policy {
  if (tokensPerSecond === 0) return policy;
  const { name, tokenizer, maxLength } = policy;
  let next = 0;
  return {
    name,
    tokenizer,
    maxLength,
    generate: (contexts, options) =>
      policy.generate(contexts, {
        ...options,
        onToken: async (token) => {
          const now = performance.now();
          next = Math.max(now, next + 1000 / tokensPerSecond);
          await pause(next - now, options.signal);
          await options.onToken?.(token);
        },
      }),
  };
}
