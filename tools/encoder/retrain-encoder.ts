/** Trains the embedded dense encoder in `data/encoder`, and writes its card. */
import { join } from 'node:path';
import { loadDataSet } from '../../lib/data/flashrag.js';
import { type Passage, splitContents } from '../../lib/data/passage.js';
import { writeFileSafely } from '../../lib/io/files.js';
import { ENCODER } from '../../lib/io/paths.js';
import { asScript } from '../../lib/io/scripts.js';
import { createRandom } from '../../lib/random.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { createDenseRetriever, encodePassages } from '../../lib/retrieval/dense.js';
import {
  createHashedEncoder,
  type HashedEncoder,
  ENCODER_FILE,
  encoderFromBytes,
} from '../../lib/retrieval/encoder.js';
import { buildExactIndex } from '../../lib/retrieval/exact.js';
import {
  queriesWithEvidence,
  retrievalRecall,
  type EvidenceQuestion,
  type RecallAt,
} from '../../lib/retrieval/recall.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import { useBackend, type BackendName } from '../../lib/tensor/backend.js';
import { markdownTable } from '../markdown.js';
import { trainEncoder, type TrainingPair } from './contrastive.js';
import { randomWeights, type HashedOptions, encoderToBytes } from './hashed-weights.js';

/** A table of recall@k, with one line per retriever and kind of query. */
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
  const depths = recall.bm25.subQueries.map(({ k }) => `@${k}`);
  return markdownTable(['queries', 'retriever', ...depths], rows);
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

/** Trains the encoder on the small world and writes it with a card. */
export async function retrainEncoder(folder = ENCODER): Promise<EncoderReport> {
  const report = await trainEncoderFiles({ ...(await loadDataSet()), outputFolder: folder });
  await writeFileSafely(join(folder, 'README.md'), modelCard(report));
  return report;
}

interface TrainEncoderOptions {
  passages: readonly Passage[];
  /** Split `train` is for training, split `dev` for measuring. */
  questions: readonly EvidenceQuestion[];
  /** Receives encoder.safetensors and encoder.json; created if missing. */
  outputFolder: string;
  encoder?: HashedOptions;
}

/** Recall on the dev split, for sub-questions' search queries and for whole questions. */
interface RecallTable {
  subQueries: RecallAt[];
  questions: RecallAt[];
}

interface EncoderReport {
  seed: number;
  numPairs: number;
  bytes: number;
  elapsedMs: number;
  recall: Record<'bm25' | 'untrained' | 'trained', RecallTable>;
}

const KS = [1, 2, 3, 5, 10];
const SEED = 0;

/**
 * Trains the embedded encoder on the train split's questions and search queries with
 * their evidence passages, measures it on the dev split as it is stored (8 bits), and
 * writes encoder.safetensors and encoder.json (the report). Gradients are computed on the
 * backend in use.
 */
export async function trainEncoderFiles(options: TrainEncoderOptions): Promise<EncoderReport> {
  const { passages, questions, outputFolder, encoder } = options;
  const start = performance.now();
  const texts = passages.map(({ contents }) => contents);
  const random = createRandom(SEED).fork('encoder-projection');
  const untrained = randomWeights(texts, random, encoder);
  const pairs = trainingPairs(passages, questions);
  const bytes = encoderToBytes(trainEncoder(untrained, pairs, { seed: SEED }));
  const elapsedMs = performance.now() - start;
  const measure = (retriever: Retriever) => measureRecall(retriever, questions);
  const recall = {
    bm25: await measure(createBm25Retriever(passages)),
    untrained: await measure(await exactRetriever(createHashedEncoder(untrained), passages)),
    trained: await measure(await exactRetriever(encoderFromBytes(bytes), passages)),
  };
  const report = { seed: SEED, numPairs: pairs.length, bytes: bytes.byteLength, elapsedMs, recall };
  await writeFileSafely(join(outputFolder, ENCODER_FILE), bytes);
  await writeFileSafely(join(outputFolder, 'encoder.json'), JSON.stringify(report, null, 2) + '\n');
  return report;
}

/** Every query with its evidence, and every title with its passage. */
function trainingPairs(
  passages: readonly Passage[],
  questions: readonly EvidenceQuestion[],
): TrainingPair[] {
  const contents = new Map(passages.map((passage) => [passage.id, passage.contents]));
  const queries = (['subQueries', 'questions'] as const).flatMap((of) =>
    queriesWithEvidence(questions, { split: 'train', of }),
  );
  const pairs = queries.flatMap(({ query, evidence }) => {
    const missing = evidence.find((id) => !contents.has(id));
    if (missing !== undefined)
      throw new Error(
        `Expected a passage with id ${missing} (evidence for "${query}"), but the corpus has none.`,
      );
    const positives = evidence.map((id) => contents.get(id)!);
    return positives.map((positive) => ({ query, positive, otherPositives: positives }));
  });
  const titles = passages.map(({ contents: text }) => ({
    query: splitContents(text).title,
    positive: text,
  }));
  return [...pairs, ...titles];
}

async function exactRetriever(encoder: HashedEncoder, passages: readonly Passage[]) {
  const index = buildExactIndex(await encodePassages(encoder, passages));
  return createDenseRetriever({ encoder, index, passages });
}

async function measureRecall(
  retriever: Retriever,
  questions: readonly EvidenceQuestion[],
): Promise<RecallTable> {
  const recall = async (of: 'subQueries' | 'questions') => {
    const queries = queriesWithEvidence(questions, { split: 'dev', of });
    return queries.length > 0 ? retrievalRecall(retriever, queries, KS) : [];
  };
  return { subQueries: await recall('subQueries'), questions: await recall('questions') };
}

asScript<{ backend: BackendName }>(import.meta.url, async ({ backend }) => {
  await useBackend(backend);
  await retrainEncoder();
});
