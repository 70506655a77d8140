/** The benchmarks' passages and questions, all in one corpus. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DataSet, Question } from '../../data/flashrag.js';
import { splitContents } from '../../data/flashrag-text.js';
import { readFolder } from '../../data/formats/folder.js';
import { PassageCollector } from '../../data/formats/format.js';
import { createRandom } from '../../random.js';
import { shapeOf } from '../../rewards/rollout.js';
import { createRetriever } from '../../retrieval/retrievers.js';
import type { Retriever } from '../../retrieval/retriever.js';
import {
  BENCHMARKS,
  FOLDERS,
  MODEL,
  MULTI_HOP,
  NUM_DEV,
  NUM_TIMED,
  numTest,
  RETRIEVER,
  TRAINED_ON,
} from './settings.js';

/**
 * What is missing for training and answers, with the remedy; undefined where all is
 * there.
 */
export function missingInputs(model = MODEL, benchmarks = BENCHMARKS): string | undefined {
  if (!existsSync(join(model, 'config.json')))
    return `there is no model in ${model} (npx parallelsearch model smollm2-135m-instruct, or PARALLELSEARCH_MODEL)`;
  const folder = Object.keys(FOLDERS).find((name) => !existsSync(join(benchmarks, name)));
  if (folder === undefined) return undefined;
  return `there is no benchmark ${folder} in ${benchmarks} (folders in the FlashRAG layout, or PARALLELSEARCH_BENCHMARKS)`;
}

/**
 * All questions with their graphs, and the passages of all benchmarks. @throws Error
 * where a folder is missing
 */
async function loadBenchmarks(root = BENCHMARKS): Promise<DataSet> {
  const passages = new PassageCollector();
  const questions: Question[] = [];
  for (const [folder, benchmark] of Object.entries(FOLDERS))
    for await (const question of readFolder(join(root, folder), passages, benchmark))
      questions.push(question);
  const contents = [...passages.contents].map(([id, text]) => ({
    id,
    contents: text,
    ...splitContents(text),
  }));
  return { questions, passages: contents };
}

export interface RealWorld {
  retriever: Retriever;
  /** Training questions with graphs. */
  train: Question[];
  /** Others of the same kind, by which adapters are chosen. */
  dev: Question[];
  /** Of each benchmark as many as {@link numTest} says. */
  test: Question[];
}

const isAbout = (benchmarks: readonly string[]) => (question: Question) =>
  benchmarks.includes(question.metadata.benchmark!);

export async function loadRealWorld(root = BENCHMARKS): Promise<RealWorld> {
  const { questions, passages } = await loadBenchmarks(root);
  const shuffled = (name: string, some: readonly Question[]): Question[] =>
    createRandom(`real model/${name}`).shuffle(some);
  const ofSplit = (split: string): Question[] =>
    questions.filter((question) => question.split === split);
  const annotated = ofSplit('train').filter(
    (question) => isAbout(TRAINED_ON)(question) && question.metadata.graph?.length,
  );
  const dev = shuffled('dev', annotated.filter(isAbout(MULTI_HOP))).slice(0, NUM_DEV);
  const isDev = new Set(dev.map(({ id }) => id));
  return {
    retriever: await createRetriever(RETRIEVER.name, passages, RETRIEVER.options),
    train: annotated.filter(({ id }) => !isDev.has(id)),
    dev,
    test: Object.values(FOLDERS).flatMap((benchmark) =>
      shuffled(benchmark, ofSplit('test').filter(isAbout([benchmark]))).slice(
        0,
        numTest(benchmark),
      ),
    ),
  };
}

/**
 * The test questions that a run is asked. @param topK where passages per query are varied
 */
export const askedOf = ({ test }: Pick<RealWorld, 'test'>, topK?: number): Question[] =>
  topK === undefined
    ? test
    : MULTI_HOP.flatMap((name) => test.filter(isAbout([name])).slice(0, numTest(name, topK)));

/** Those that are timed: of either kind as many. */
export const timedOf = ({ test }: Pick<RealWorld, 'test'>): Question[] =>
  (['parallelizable', 'sequential'] as const).flatMap((shape) =>
    test
      .filter((question) => isAbout(MULTI_HOP)(question) && shapeOf(question) === shape)
      .slice(0, NUM_TIMED),
  );
