/** Made-up answers with each retriever and k. */
import { matching } from '../../lib/evaluation/figures.js';
import { identify } from '../../lib/experiments/running/runs.js';
import { topK, topKSettings } from '../../lib/experiments/top-k.js';
import type { TopKAnswer, TopKInput } from '../../lib/experiments/top-k.js';
import { syntheticResults, writeRecords } from './synthetic.js';

/** Three passages per query fit; with BM25 every question is answered from k = 3 on. */
export async function writeSyntheticTopK(folder: string): Promise<void> {
  const results = syntheticResults({ perTemplate: 4 });
  const recall = topKSettings().map(({ retriever, k }) => {
    return { retriever, k, hitRate: 1 - 0.4 / k, n: 20 };
  });
  await writeRecords(folder, topK, (input: TopKInput) => {
    if (input === 'recall') return { recall };
    const { run, ...setting } = input;
    const answers = matching(results, identify(run)).map((result): TopKAnswer => {
      const subQueries = result.searches.flat().length;
      const isFound = setting.k >= 3 && setting.retriever === 'bm25';
      return {
        ...result,
        ...setting,
        subQueries,
        em: isFound ? 1 : result.em,
        passagesFound: setting.k * subQueries,
        passagesShown: Math.min(setting.k, 3) * subQueries,
        evidenceSeen: isFound ? 1 : 0.5,
        isContextFull: false,
      };
    });
    return { answers };
  });
}
