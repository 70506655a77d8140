/**
 * Reads files of benchmarks as their authors publish them, row by row: they are larger
 * than what fits into one text.
 */
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { JSONParser } from '@streamparser/json';
import { z } from 'zod';
import type { Question } from '../question.js';
import type { DataFormat, PassageCollector } from './format.js';
import { hotpotqa } from './hotpotqa.js';
import { musique } from './musique.js';
import { twoWiki } from './two-wiki.js';
import { streamJsonLines } from '../../io/files.js';

/** The formats of benchmarks. A new one is its file and its line here. */
export const DATA_FORMATS: readonly DataFormat[] = [hotpotqa, twoWiki, musique];

/** The values of a JSON array, or of a file with one a line. */
async function* readRows(file: string): AsyncGenerator<unknown> {
  if (await beginsWithArray(file)) yield* readArray(file);
  else
    for await (const line of streamJsonLines(file, (value) => value)) {
      if ('complaint' in line) throw new Error(line.complaint);
      yield line.value;
    }
}

/** The elements of an array, each as soon as it is there. */
async function* readArray(file: string): AsyncGenerator<unknown> {
  const rows: unknown[] = [];
  const parser = new JSONParser({ paths: ['$.*'], keepStack: false });
  parser.onValue = ({ value }) => void rows.push(value);
  parser.onError = (cause) => {
    throw new Error(`Expected JSON in ${file}, but ${cause.message}`, { cause });
  };
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    parser.write(chunk);
    yield* rows.splice(0);
  }
  if (!parser.isEnded)
    throw new Error(
      `Expected the whole of a JSON array in ${file}, but it ends before. Get it again.`,
    );
}

async function beginsWithArray(file: string): Promise<boolean> {
  for await (const chunk of createReadStream(file, { end: 1023 }) as AsyncIterable<Buffer>)
    return chunk.toString().trimStart().startsWith('[');
  return false;
}

/** `hotpot_train_v1.1.json` is of the split train. */
const splitOf = (file: string): string | undefined =>
  /(?:^|[^a-z])(train|dev|test)(?:[^a-z]|$)/i.exec(path.basename(file))?.[1].toLowerCase();

/**
 * The questions of a file; what they have for context goes to `passages`. Rows without
 * an answer are null.
 * @throws Error naming the row that fits no format
 */
export async function* readBenchmark(
  file: string,
  passages: PassageCollector,
): AsyncGenerator<Question | null> {
  const split = splitOf(file);
  let number = 0;
  for await (const row of readRows(file)) {
    number++;
    const format = DATA_FORMATS.find(
      ({ matches }) => typeof row === 'object' && row !== null && matches(row),
    );
    if (!format)
      throw new Error(
        `Expected row ${number} of ${file} to be one of ${DATA_FORMATS.map(({ name }) => name).join(', ')}, but got ${JSON.stringify(row)?.slice(0, 80)}.`,
      );
    try {
      const question = format.read(row as object, passages);
      yield question && split ? { ...question, split } : question;
    } catch (error) {
      if (!(error instanceof z.ZodError)) throw error;
      throw new Error(
        `Row ${number} of ${file} is none of ${format.name}: ${z.prettifyError(error)}`,
        { cause: error },
      );
    }
  }
}
