/** The embedded dense encoder as it lies in `data/encoder`: its training and its card. */
import { join } from 'node:path';
import { loadDataSet } from '../../lib/data/flashrag.js';
import { trainHere } from '../../lib/io/processes.js';
import { ENCODER } from '../../lib/io/paths.js';
import { useBackend, type BackendName } from '../../lib/tensor/backend.js';
import { writeFileSafely } from '../../lib/io/files.js';
import { markdownTable } from '../markdown.js';
import { trainEncoderFiles, type EncoderReport } from './train-encoder.js';

/** A table of recall@k: a line a retriever and kind of query. */
function recallTable(recall: EncoderReport['recall']): string {
  const retrievers = { bm25: 'BM25', untrained: 'dense, untrained', trained: 'dense, trained' };
  const kinds = { subQueries: 'sub-questions', questions: 'questions' };
  const rows = typedKeys(kinds).flatMap((kind) =>
    typedKeys(retrievers).map((retriever) => [
      kinds[kind],
      retrievers[retriever],
      ...recall[retriever][kind].map((at) => at.recall.toFixed(3)),
    ]),
  );
  return markdownTable(
    ['queries', 'retriever', ...recall.bm25.subQueries.map(({ k }) => `@${k}`)],
    rows,
  );
}

const typedKeys = <K extends string>(titles: Record<K, string>): K[] => Object.keys(titles) as K[];

function modelCard(report: EncoderReport): string {
  return `---
license: cc0-1.0
language: en
pipeline_tag: feature-extraction
---

# The embedded dense encoder

Embeds queries and passages for exact or HNSW search: hashed words and character n-grams, weighted and projected
(${Math.round(report.bytes / 1000)} KB, 8 bits per weight). Trained in ${Math.round(report.elapsedMs / 1000)} s on two cores with in-batch negatives on ${report.numPairs.toLocaleString('en')} pairs:
questions and search queries of the small world's train split with their evidence, and every passage with its title. Seed ${report.seed}.

Recall@k on the dev split, compared with BM25:

${recallTable(report.recall)}

\`loadEncoder('data/encoder')\` loads it. It only works for the small world.
`;
}

/**
 * Trains the encoder on the small world's training questions and writes it with a card.
 */
export async function retrainEncoder(folder = ENCODER): Promise<EncoderReport> {
  const report = await trainEncoderFiles({ ...(await loadDataSet()), outputFolder: folder });
  await writeFileSafely(join(folder, 'README.md'), modelCard(report));
  return report;
}

trainHere<{ backend: BackendName }>(import.meta.url, async ({ backend }) => {
  await useBackend(backend);
  await retrainEncoder();
});
