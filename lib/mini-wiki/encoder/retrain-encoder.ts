/** The embedded dense encoder as it lies in `data/encoder`: its training, its model card, its line in the data card. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ENCODER, MINI_WIKI } from '../../io/paths.js';
import { writeFileSafely } from '../../io/files.js';
import { markdownTable, replaceGenerated } from '../markdown.js';
import { trainEncoderFiles, type EncoderReport } from './train-encoder.js';
import type { World } from '../../experiments/world.js';

const MARKS = ['<!-- generated recall begins -->', '<!-- generated recall ends -->'] as const;

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
  return markdownTable(['queries', 'retriever', ...recall.bm25.subQueries.map(({ k }) => `@${k}`)], rows);
}

const typedKeys = <K extends string>(titles: Record<K, string>): K[] => Object.keys(titles) as K[];

function modelCard(report: EncoderReport): string {
  return `---
license: cc-by-sa-3.0
language: en
pipeline_tag: feature-extraction
---

# The embedded dense encoder

Turns a query or a passage into a vector for exact or HNSW search: hashed words and pieces of words, weighted and projected
(${Math.round(report.bytes / 1000)} KB, 8 bits a weight). Trained in ${Math.round(report.elapsedMs / 1000)} s on two cores by contrast with the
other passages of a batch, on ${report.numPairs.toLocaleString('en')} pairs: questions and search queries of the mini-wiki's train split with their
evidence, and every passage with its title. Seed ${report.seed}.

Recall@k on the test split, beside BM25:

${recallTable(report.recall)}

\`loadEncoder('data/encoder')\` loads it; it knows the mini-wiki and nothing else.
`;
}

/** Trains the encoder on the world's train split into `data/encoder` and writes its recall into both cards. */
export async function retrainEncoder(world: World, folder = ENCODER): Promise<EncoderReport> {
  const report = await trainEncoderFiles({
    passages: world.passages,
    questions: world.questions,
    outputFolder: folder,
  });
  await writeFileSafely(join(folder, 'README.md'), modelCard(report));
  const card = join(MINI_WIKI, 'README.md');
  if (existsSync(card)) {
    await writeFileSafely(
      card,
      replaceGenerated(await readFile(card, 'utf8'), MARKS, recallTable(report.recall)),
    );
  }
  return report;
}
