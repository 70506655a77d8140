/**
 * Reads questions in the benchmarks' formats (row by row, because the files are large)
 * and in the FlashRAG format, with dependency graphs from their annotations.
 */
import path from 'node:path';
import { JSONParser } from '@streamparser/json';
import { z } from 'zod';
import { openFile, readJsonLines } from '../../io/files.js';
import { describeError, requireShallow } from '../../io/json.js';
import { sentenceAbout } from '../../text/sentences.js';
import { dataSetFiles, loadQuestions, readPassages } from '../flashrag.js';
import { questionType, type Question, type QuestionGraph } from '../question.js';
import { annotatedPassages, type DataFormat, type PassageCollector } from './format.js';
import { articleGraph, findNamed, hotpotqa, includesAnswer, type Article } from './hotpotqa.js';
import { decompositionGraph, musique } from './musique.js';
import { evidencesSchema, tripleGraph, twoWiki } from './two-wiki.js';

/** To add a format, write its file and list it here. */
export const DATA_FORMATS: readonly DataFormat[] = [hotpotqa, twoWiki, musique];

/** The format of a row. */
const findFormat = (row: unknown): DataFormat | undefined =>
  DATA_FORMATS.find(({ matches }) => typeof row === 'object' && row !== null && matches(row));

/** Whether rows are a benchmark's; verl's have a reward model. */
export const isBenchmark = ([first]: readonly object[]): boolean =>
  first !== undefined && !('reward_model' in first) && findFormat(first) !== undefined;

/** On Hugging Face, `_id` may be `id`; test sets have null, Parquet files bigints. */
function plainRow(row: object): object {
  const fields = Object.entries(row).filter(([, value]) => value !== null);
  const { id, ...named } = Object.fromEntries(fields) as Record<string, unknown>;
  const text = JSON.stringify({ id, _id: id, ...named }, (_, value: unknown) =>
    typeof value === 'bigint' ? Number(value) : value,
  );
  return JSON.parse(text) as object;
}

/** Reads the elements of a JSON array (also one under `data`), or lines of JSON. */
async function* streamRows(file: string): AsyncGenerator<unknown> {
  const path = await arrayPath(file);
  if (path) yield* readArray(file, path);
  else yield* readJsonLines(file, (value) => value, 'rows of a benchmark');
}

async function* readArray(file: string, path: string): AsyncGenerator<unknown> {
  const rows: unknown[] = [];
  const parser = new JSONParser({ paths: [path], keepStack: false });
  parser.onValue = ({ value }) => void rows.push(value);
  const fail = (cause: Error): never => {
    throw new Error(`Expected JSON in ${file}, but ${cause.message}`, { cause });
  };
  parser.onError = fail;
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 1;
  for await (const chunk of (await openFile(file)) as AsyncIterable<Buffer>) {
    try {
      parser.write(decoder.decode(chunk, { stream: true }));
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw new Error(
        `Expected UTF-8 in ${file}, but got other bytes after line ${line}. Save the file as UTF-8.`,
        { cause: error },
      );
    }
    line += chunk.filter((byte) => byte === 10).length;
    for (const row of rows.splice(0)) {
      try {
        requireShallow(row);
      } catch (error) {
        fail(error as Error);
      }
      yield row;
    }
  }
  if (!parser.isEnded)
    throw new Error(
      `Expected a JSON array in ${file}, but the file is truncated. Download it again.`,
    );
}

/** Where a file has its array; null for lines. */
async function arrayPath(file: string): Promise<string | null> {
  const stream = await openFile(file);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    stream.destroy();
    const [start = ''] = /^\s*({\s*"data"\s*:\s*)?\[/.exec(chunk.toString()) ?? [];
    if (start === '') return null;
    return start.includes('{') ? '$.data.*' : '$.*';
  }
  return null;
}

const SPLIT = /(?:^|[^a-z])(train|dev|test|val(?:id(?:ation)?)?)(?:[^a-z]|$)/i;

/**
 * The split in a file's name, or that is its folder's name: `train` for
 * `hotpot_train_v1.1.json` and Hugging Face's `train/0000.parquet`; validation is `dev`.
 */
export function splitName(file: string): string | undefined {
  const folder = path.basename(path.dirname(path.resolve(file)));
  const [, name] =
    SPLIT.exec(path.basename(file)) ?? /^(train|dev|test|validation)$/.exec(folder) ?? [];
  return name?.toLowerCase().replace(/^val.*/, 'dev');
}

/**
 * Reads a benchmark's file: a question per row, null without an answer. Adds their
 * passages to `passages`.
 * @param rows of a file that has been read
 * @throws Error naming a row that matches no format
 */
export async function* readBenchmark(
  file: string,
  passages: PassageCollector,
  rows: Iterable<unknown> | AsyncIterable<unknown> = streamRows(file),
): AsyncGenerator<Question | null> {
  const split = splitName(file);
  let number = 0;
  for await (const row of rows) {
    number++;
    const format = findFormat(row);
    if (!format)
      throw new Error(
        `Expected row ${number} of ${file} to be one of ${DATA_FORMATS.map(({ name }) => name).join(', ')}, but got ${JSON.stringify(row)?.slice(0, 80)}.`,
      );
    try {
      const question = format.read(plainRow(row as object), passages);
      if (question) questionType(question);
      yield question && split ? { ...question, split } : question;
    } catch (error) {
      const reason = describeError(error);
      throw new Error(`Row ${number} of ${file} is not valid ${format.name}: ${reason}`, {
        cause: error,
      });
    }
  }
}

/**
 * Reads a folder in the FlashRAG format, with graphs from the annotations. Adds its
 * passages to `passages`.
 * @param benchmark for questions that name none
 */
export async function* readFolder(
  folder: string,
  passages: PassageCollector,
  benchmark = path.basename(path.resolve(folder)),
): AsyncGenerator<Question> {
  const { passages: corpus } = dataSetFiles(folder);
  for (const passage of corpus ? await readPassages(corpus) : []) passages.keep(passage);
  for (const { metadata, ...question } of await loadQuestions(folder))
    yield withAnnotatedGraph({ ...question, metadata: { benchmark, ...metadata } }, passages);
}

const textOrNumber = z.union([z.string(), z.number()]).transform(String);
/** Annotations of 2WikiMultiHopQA and MuSiQue, which FlashRAG keeps as metadata. */
const annotationsSchema = z.object({
  evidences: evidencesSchema.optional(),
  decomposition: z.array(z.object({ question: z.string(), answer: textOrNumber })).optional(),
});

function annotatedGraph(question: Question, passages: PassageCollector): QuestionGraph | null {
  const { type } = question.metadata;
  const { evidences, decomposition } = annotationsSchema.safeParse(question.metadata).data ?? {};
  const support = annotatedPassages(question, passages);
  const findIds = (matches: (passage: (typeof support)[number]) => boolean): string[] =>
    support.filter(matches).map(({ id }) => id);
  if (evidences?.length)
    return tripleGraph(evidences, {
      type,
      findEvidence: (entity) => findNamed(support, entity).map(({ id }) => id),
    });
  if (decomposition?.length)
    return decompositionGraph(
      decomposition.map((step) => ({
        ...step,
        evidence: findIds(({ title, text }) => includesAnswer(`${title} ${text}`, step.answer)),
      })),
    );
  const [answer] = question.goldenAnswers;
  const articles = support.map(({ id, title, text }): Article => {
    const facts = sentenceAbout(text, type === 'bridge' ? [answer] : [], question.question);
    return { title, text, facts, evidence: [id] };
  });
  return articleGraph(articles, type, answer);
}

/** Adds the graph that a question's annotations give, unless it has one. */
export function withAnnotatedGraph(question: Question, passages: PassageCollector): Question {
  const { metadata } = question;
  const graph = metadata.graph?.length ? null : annotatedGraph(question, passages);
  return graph ? { ...question, metadata: { ...metadata, graph } } : question;
}
