import { join } from 'node:path';
import type { Passage } from '../../lib/data/question.js';
import { writeFileSafely } from '../../lib/io/files.js';
import { createRandom } from '../../lib/random.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { trainEncoder, type TrainingOptions, type TrainingPair } from './contrastive.js';
import { createDenseRetriever, encodePassages } from '../../lib/retrieval/dense.js';
import {
  createHashedEncoder,
  type HashedEncoder,
  ENCODER_FILE,
  encoderFromBytes,
} from '../../lib/retrieval/encoder.js';
import { randomWeights, type HashedOptions, encoderToBytes } from './hashed-weights.js';
import { buildExactIndex } from '../../lib/retrieval/exact.js';
import {
  queriesWithEvidence,
  retrievalRecall,
  type EvidenceQuestion,
  type RecallAt,
} from '../../lib/retrieval/recall.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import { splitContents } from '../../lib/text/contents.js';

export interface TrainEncoderOptions {
  passages: readonly Passage[];
  /** Those of the split `train` are learned from, those of `dev` measured. */
  questions: readonly EvidenceQuestion[];
  /** Receives encoder.safetensors and encoder.json; made when absent. */
  outputFolder: string;
  seed?: number | string;
  encoder?: HashedOptions;
  training?: Omit<TrainingOptions, 'seed'>;
}

/** Recall on the dev split, for sub-questions' search queries and for whole questions. */
export interface RecallTable {
  subQueries: RecallAt[];
  questions: RecallAt[];
}

export interface EncoderReport {
  seed: number | string;
  numPairs: number;
  bytes: number;
  elapsedMs: number;
  recall: Record<'bm25' | 'untrained' | 'trained', RecallTable>;
}

const KS = [1, 2, 3, 5, 10];

/**
 * Trains the embedded encoder on the train split's questions and search queries with
 * their evidence passages, measures it on the dev split as it is stored (8 bits), and
 * writes encoder.safetensors and encoder.json (the report). Gradients are computed on the
 * backend in use.
 */
export async function trainEncoderFiles(options: TrainEncoderOptions): Promise<EncoderReport> {
  const { passages, questions, outputFolder, seed = 0 } = options;
  const start = performance.now();
  const texts = passages.map(({ contents }) => contents);
  const untrained = randomWeights(
    texts,
    createRandom(seed).fork('encoder-projection'),
    options.encoder,
  );
  const pairs = trainingPairs(passages, questions);
  const bytes = encoderToBytes(trainEncoder(untrained, pairs, { ...options.training, seed }));
  const elapsedMs = performance.now() - start;
  const measure = (retriever: Retriever) => recallTable(retriever, questions);
  const recall = {
    bm25: await measure(createBm25Retriever(passages)),
    untrained: await measure(await exactRetriever(createHashedEncoder(untrained), passages)),
    trained: await measure(await exactRetriever(encoderFromBytes(bytes), passages)),
  };
  const report = { seed, numPairs: pairs.length, bytes: bytes.byteLength, elapsedMs, recall };
  await writeFileSafely(join(outputFolder, ENCODER_FILE), bytes);
  await writeFileSafely(join(outputFolder, 'encoder.json'), JSON.stringify(report, null, 2) + '\n');
  return report;
}

/**
 * Every query with its evidence, and every title with its passage, which needs no
 * question.
 */
function trainingPairs(
  passages: readonly Passage[],
  questions: readonly EvidenceQuestion[],
): TrainingPair[] {
  const contents = new Map(passages.map((passage) => [passage.id, passage.contents]));
  const queries = (['subQueries', 'questions'] as const).flatMap((of) =>
    queriesWithEvidence(questions, { split: 'train', of }),
  );
  const pairs = queries.flatMap(({ query, evidence }) => {
    const positives = evidence.map((id) => contents.get(id) ?? missingPassage(id, query));
    return positives.map((positive) => ({ query, positive, otherPositives: positives }));
  });
  const titles = passages.map(({ contents: text }) => ({
    query: splitContents(text).title,
    positive: text,
  }));
  return [...pairs, ...titles];
}

function missingPassage(id: string, query: string): never {
  throw new Error(
    `Expected a passage with id ${id} (evidence for "${query}"), but the corpus has none.`,
  );
}

async function exactRetriever(
  encoder: HashedEncoder,
  passages: readonly Passage[],
): Promise<Retriever> {
  return createDenseRetriever({
    encoder,
    index: buildExactIndex(await encodePassages(encoder, passages)),
    passages,
  });
}

async function recallTable(
  retriever: Retriever,
  questions: readonly EvidenceQuestion[],
): Promise<RecallTable> {
  const recall = async (of: 'subQueries' | 'questions') => {
    const queries = queriesWithEvidence(questions, { split: 'dev', of });
    return queries.length > 0 ? retrievalRecall(retriever, queries, KS) : [];
  };
  return { subQueries: await recall('subQueries'), questions: await recall('questions') };
}
