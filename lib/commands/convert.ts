/**
 * `parallelsearch data convert SOURCE...`: questions and passages from one layout into
 * another.
 */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { group } from 'd3-array';
import { Command, Option } from 'commander';
import { formatPassages, formatQuestions } from '../data/flashrag.js';
import { readFolder } from '../data/formats/folder.js';
import { PassageCollector } from '../data/formats/format.js';
import { DATA_FORMATS, readBenchmark } from '../data/formats/read.js';
import { type Question, questionType } from '../data/question.js';
import { readRows, writeRows } from '../interop/rows.js';
import { DEFAULT_METHOD } from '../methods/checkpoints.js';
import { writeTextsSafely } from '../io/files.js';
import { METHODS, rolloutConfigOf } from '../methods/index.js';
import { listed } from '../text/listed.js';
import { PROMPT_FORMS, type PromptForm } from '../text/prompts.js';
import { log } from './cli-utils.js';

const TARGETS = ['flashrag', 'verl', ...DATA_FORMATS.map(({ name }) => name)];
/** Between lines that say how far a large file has been read. */
const INTERVAL_MS = 10_000;

export interface ConvertSettings {
  out: string;
  to: string;
  /** Whose prompt the rows of verl have. */
  method: string;
  promptForm: PromptForm;
}

/**
 * The questions of a folder in the FlashRAG layout, of a Parquet file of verl, or of a
 * benchmark's file; null for one without an answer.
 */
async function* readSource(
  source: string,
  passages: PassageCollector,
): AsyncGenerator<Question | null> {
  if (!existsSync(source))
    throw new Error(`Expected ${source}, but there is none. Check the path.`);
  if (statSync(source).isDirectory()) yield* readFolder(source, passages);
  else if (source.endsWith('.parquet')) yield* await readRows(source);
  else yield* readBenchmark(source, passages);
}

async function readAll(
  sources: readonly string[],
  passages: PassageCollector,
): Promise<{ questions: Question[]; numLeftOut: number }> {
  const questions: Question[] = [];
  let numLeftOut = 0;
  const timer = setInterval(() => log(`${questions.length} questions so far`), INTERVAL_MS).unref();
  try {
    for (const source of sources)
      for await (const question of readSource(source, passages))
        if (question) questions.push(question);
        else numLeftOut++;
  } finally {
    clearInterval(timer);
  }
  return { questions, numLeftOut };
}

/** One row at least, as lines or as a JSON array. */
function* printRows(rows: Iterable<object>, ending: '.json' | '.jsonl'): Generator<string> {
  const isArray = ending === '.json';
  let before = isArray ? '[\n' : '';
  for (const row of rows) {
    yield `${before}${JSON.stringify(row)}`;
    before = isArray ? ',\n' : '\n';
  }
  yield isArray ? '\n]\n' : '\n';
}

/** Writes a layout into a folder. Returns the files. */
async function writeAll(
  questions: readonly Question[],
  passages: PassageCollector,
  { out, to, method, promptForm }: ConvertSettings,
): Promise<string[]> {
  const files: string[] = [];
  const fileOf = (name: string): string => {
    files.push(path.join(out, name));
    return files.at(-1)!;
  };
  if (to === 'flashrag') {
    function* corpus(): Generator<string> {
      for (const [id, contents] of passages.contents) yield formatPassages([{ id, contents }]);
    }
    if (passages.contents.size > 0) await writeTextsSafely(fileOf('corpus.jsonl'), corpus());
    function* lines(): Generator<string> {
      for (const question of questions) yield formatQuestions([question]);
    }
    await writeTextsSafely(fileOf('questions.jsonl'), lines());
    return files;
  }
  const format = DATA_FORMATS.find(({ name }) => name === to);
  for (const [split, some] of group(questions, (question) => question.split ?? 'questions')) {
    if (format) {
      function* rows(): Generator<object> {
        for (const question of some) yield format!.print(question, passages);
      }
      await writeTextsSafely(fileOf(split + format.ending), printRows(rows(), format.ending));
    } else {
      const prompt = rolloutConfigOf(method).prompt;
      await writeRows(fileOf(`${split}.parquet`), some, { prompt, promptForm });
    }
  }
  return files;
}

/**
 * Converts, and says what there is. Returns the files that were written. @throws Error
 * for what cannot be read, or no question
 */
export async function runConvert(
  sources: readonly string[],
  settings: ConvertSettings,
): Promise<string[]> {
  const passages = new PassageCollector();
  const { questions, numLeftOut } = await readAll(sources, passages);
  if (questions.length === 0)
    throw new Error(`Expected questions with answers in ${listed(sources)}, but there are none.`);
  const files = await writeAll(questions, passages, settings);
  const kinds = group(questions, (question) => questionType(question) ?? 'of no known shape');
  const numGraphs = questions.filter(({ metadata }) => metadata.graph?.length).length;
  log(
    `${questions.length} questions (${listed(Array.from(kinds, ([kind, some]) => `${some.length} ${kind}`))}; ` +
      `${numGraphs} with a dependency graph) and ${passages.contents.size} passages: ${listed(files)}`,
  );
  if (numLeftOut > 0)
    log(`Rows left out, for they have no answer or none in their paragraphs: ${numLeftOut}`);
  return files;
}

/** The `convert` command below `data`. */
export const convertCommand = (): Command =>
  new Command('convert')
    .description(
      'convert questions and passages: HotpotQA, 2WikiMultiHopQA and MuSiQue as published, FlashRAG, and verl’s Parquet files, each into each',
    )
    .argument(
      '<sources...>',
      'files of a benchmark, Parquet files of verl, or a folder in the FlashRAG layout',
    )
    .requiredOption('-o, --out <folder>', 'gets the files')
    .addOption(new Option('--to <layout>', 'what is written').choices(TARGETS).default('flashrag'))
    .addOption(
      new Option('--method <name>', 'whose prompt the rows of verl have')
        .choices(METHODS.names())
        .default(DEFAULT_METHOD),
    )
    .addOption(
      new Option('--prompt-form <form>', 'how the prompt is put in rows of verl')
        .choices(PROMPT_FORMS)
        .default('chat'),
    )
    .action(async (sources: string[], settings: ConvertSettings) => {
      await runConvert(sources, settings);
    });
