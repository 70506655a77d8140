/** A made-up record of the experiment on passages a sub-query, with known effects of k and of the retriever. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  topKConfigSchema,
  type TopKAnswer,
  type TopKRecord,
} from '../../../lib/experiments/top-k/measures.js';
import { TOP_K_CONFIG } from '../../../lib/experiments/top-k/run.js';
import { syntheticResults } from '../synthetic.js';

/** Of five passages a sub-query three find room; every question is answered from k = 3 on. HNSW is like exact search. */
export function syntheticTopK({ perTemplate = 4 } = {}): TopKRecord {
  const config = topKConfigSchema.parse(TOP_K_CONFIG);
  const results = syntheticResults({ perTemplate }).filter(
    ({ method, model }) => model === config.model && ['parallelsearch', 'search-r1'].includes(method),
  );
  const settings = config.retrievers.flatMap((retriever) => config.ks.map((k) => ({ retriever, k })));
  const answers = settings.flatMap(({ retriever, k }) =>
    results.map((result): TopKAnswer => {
      const subQueries = result.searches.flat().length;
      const isFound = k >= 3 && retriever === 'bm25';
      return {
        ...result,
        ...{ retriever, k, subQueries, em: isFound ? 1 : result.em },
        ...{ passagesFound: k * subQueries, passagesShown: Math.min(k, 3) * subQueries },
        ...{ evidenceShown: isFound ? 1 : 0.5, isContextFull: false },
      };
    }),
  );
  const recall = settings.map(({ retriever, k }) => ({ retriever, k, hitRate: 1 - 0.4 / k, n: 20 }));
  const provenance = { seeds: config.seeds, commit: '0000000', configHash: 'synthetic', durationSeconds: 1 };
  return { config, answers, recall, provenance };
}

/** Writes a folder as the experiment does; returns it. */
export function writeSyntheticTopK(folder: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'results.json'), JSON.stringify(syntheticTopK()));
  return folder;
}
