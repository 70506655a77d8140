/** Made-up answers with each retriever and k, with known effects of both. */
import { matching } from '../../../lib/evaluation/table.js';
import type { TopKAnswer } from '../../../lib/experiments/top-k.js';
import { topK, type TopKInput } from '../../../lib/experiments/top-k.js';
import { topKSettings } from '../../../lib/experiments/top-k.js';
import { syntheticResults, writeRecords } from '../synthetic.js';

/**
 * Of five passages per query three find room; with BM25 every question is answered from k
 * = 3 on.
 */
export async function writeSyntheticTopK(folder: string): Promise<void> {
  const results = syntheticResults({ perTemplate: 4 });
  const recall = topKSettings().map(({ retriever, k }) => ({
    retriever,
    k,
    hitRate: 1 - 0.4 / k,
    n: 20,
  }));
  await writeRecords(folder, topK, (input: TopKInput) => {
    if (input === 'recall') return { recall };
    const { run, retriever, k, trainedK } = input;
    const { method, model, warmUp, seed } = run;
    const answers = matching(results, { method, model, warmUp, seed }).map((result): TopKAnswer => {
      const subQueries = result.searches.flat().length;
      const isFound = k >= 3 && retriever === 'bm25';
      return {
        ...result,
        retriever,
        k,
        trainedK,
        subQueries,
        em: isFound ? 1 : result.em,
        passagesFound: k * subQueries,
        passagesShown: Math.min(k, 3) * subQueries,
        evidenceSeen: isFound ? 1 : 0.5,
        isContextFull: false,
      };
    });
    return { answers };
  });
}
