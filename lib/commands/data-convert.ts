/** `parallelsearch data convert SOURCE...`: converts questions and passages. */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { group } from 'd3-array';
import { formatPassages, formatQuestions, ignoredFiles } from '../data/flashrag.js';
import { annotatedIds, graphAfter, PassageCollector } from '../data/formats/format.js';
import {
  DATA_FORMATS,
  isBenchmark,
  readBenchmark,
  readFolder,
  splitName,
} from '../data/formats/read.js';
import { type Question, questionType, requireUniqueIds } from '../data/question.js';
import { methodRollout } from '../interop/export.js';
import { readRows, writeRows } from '../interop/rows.js';
import { writeLines, writeTextsSafely } from '../io/files.js';
import { readParquet } from '../io/parquet.js';
import { formatList, plural } from '../text/english.js';
import { PROMPT_FORMS, type PromptForm } from '../text/prompts.js';
import { METHODS } from '../training/methods.js';
import { DEFAULT_METHOD } from '../training/models.js';
import { choice, log, shellWord } from './common/cli-utils.js';
import { inputFiles, requireDistinctFiles } from './common/outputs.js';

const TARGETS = ['flashrag', 'verl', ...DATA_FORMATS.map(({ name }) => name)];
const PROGRESS_INTERVAL_MS = 10_000;

interface ConvertSettings {
  out: string;
  to: string;
  method: string;
  promptForm: PromptForm;
}

/** The questions of a FlashRAG folder, Parquet file or benchmark; null if unanswered. */
async function* readSource(
  source: string,
  passages: PassageCollector,
): AsyncGenerator<Question | null> {
  if (!existsSync(source))
    throw new Error(`Expected ${source}, but there is none. Check the path.`);
  const stats = statSync(source);
  if (stats.isDirectory()) {
    const ignored = ignoredFiles(source);
    if (ignored.length > 0)
      log(
        `Left out ${formatList(ignored)} in ${source}: only a folder's FlashRAG files are read. To convert another file, name it: npx parallelsearch data convert ${shellWord(path.join(source, ignored[0]))}`,
      );
    yield* readFolder(source, passages);
  } else if (!stats.isFile())
    throw new Error(`Expected ${source} to be a file, but it is a pipe. Save its text to a file.`);
  else if (source.endsWith('.parquet')) {
    const rows = await readParquet(source);
    if (isBenchmark(rows)) yield* readBenchmark(source, passages, rows);
    else
      for (const question of await readRows(source, rows))
        yield question.goldenAnswers.length > 0 ? { split: splitName(source), ...question } : null;
  } else yield* readBenchmark(source, passages);
}

async function readAll(
  sources: readonly string[],
  passages: PassageCollector,
): Promise<{ questions: Question[]; numSkipped: number }> {
  const questions: Question[] = [];
  let numSkipped = 0;
  const timer = setInterval(
    () => log(`${questions.length} questions so far`),
    PROGRESS_INTERVAL_MS,
  ).unref();
  try {
    for (const source of sources)
      for await (const question of readSource(source, passages))
        if (question) questions.push(question);
        else numSkipped++;
  } finally {
    clearInterval(timer);
  }
  return { questions, numSkipped };
}

/**
 * Makes ids unique: if any id repeats, all are prefixed with the benchmark, the split, or
 * both.
 * @throws Error if none of these distinguishes the questions
 */
function withUniqueIds(questions: readonly Question[]): readonly Question[] {
  const prefixes: ((question: Question) => (string | undefined)[])[] = [
    () => [],
    ({ metadata }) => [metadata.benchmark],
    ({ split }) => [split],
    ({ metadata, split }) => [metadata.benchmark, split],
  ];
  for (const prefix of prefixes) {
    const renamed = questions.map((question) => ({
      ...question,
      id: [...prefix(question).filter(Boolean), question.id].join('-'),
    }));
    if (new Set(renamed.map(({ id }) => id)).size < questions.length) continue;
    const [from, to] = [questions[0].id, renamed[0].id];
    if (from !== to) log(`Ids are not unique, so they get a prefix: ${from} becomes ${to}.`);
    return renamed;
  }
  requireUniqueIds(questions);
  return questions;
}

function* formatRows(rows: Iterable<object>, ending: '.json' | '.jsonl'): Generator<string> {
  const isArray = ending === '.json';
  let separator = isArray ? '[\n' : '';
  for (const row of rows) {
    yield `${separator}${JSON.stringify(row)}`;
    separator = isArray ? ',\n' : '\n';
  }
  yield isArray ? '\n]\n' : '\n';
}

async function writeAll(
  questions: readonly Question[],
  passages: PassageCollector,
  { out, to, method, promptForm, inputs }: ConvertSettings & { inputs: readonly string[] },
): Promise<string[]> {
  const files: string[] = [];
  const addFile = (name: string): string => {
    const file = path.join(out, name);
    requireDistinctFiles([file], inputs);
    files.push(file);
    return file;
  };
  if (to === 'flashrag') {
    if (passages.contents.size > 0)
      await writeLines(addFile('corpus.jsonl'), passages.contents, ([id, contents]) =>
        formatPassages([{ id, contents }]),
      );
    await writeLines(addFile('questions.jsonl'), questions, (one) => formatQuestions([one]));
    return files;
  }
  const format = DATA_FORMATS.find(({ name }) => name === to);
  for (const [split, members] of group(questions, (question) => question.split ?? 'questions')) {
    if (format) {
      function* rows(): Generator<object> {
        for (const question of members) yield format!.print(question, passages);
      }
      await writeTextsSafely(addFile(split + format.ending), formatRows(rows(), format.ending));
    } else {
      await writeRows(addFile(`${split}.parquet`), members, methodRollout(method, promptForm));
    }
  }
  return files;
}

/** @throws Error for invalid sources, or if there are no questions */
async function runConvert(sources: readonly string[], settings: ConvertSettings): Promise<void> {
  const passages = new PassageCollector();
  const { questions: read, numSkipped } = await readAll(sources, passages);
  if (read.length === 0)
    throw new Error(`Expected questions with answers in ${formatList(sources)}, but found none.`);
  const { to } = settings;
  const format = DATA_FORMATS.find(({ name }) => name === to);
  const graphs = new Map(
    withUniqueIds(read).map((question) => [
      question,
      format ? graphAfter(format, question, passages) : 'kept',
    ]),
  );
  const withGraph = (...states: string[]): Question[] =>
    [...graphs].flatMap(([question, state]) => (states.includes(state) ? question : []));
  const questions = withGraph('kept', 'lost');
  if (questions.length === 0)
    throw new Error(
      `Expected questions with dependencies that ${to} can state, but of ${read.length} there are none. Use --to flashrag.`,
    );
  const inputs = sources.flatMap(inputFiles);
  const files = await writeAll(questions, passages, { ...settings, inputs });
  const types = group(questions, (question) => questionType(question) ?? 'of unknown type');
  const [lost, changed] = [withGraph('lost'), withGraph('changed')];
  const numGraphs = questions.filter(({ metadata }) => metadata.graph?.length).length - lost.length;
  const numPassages = passages.contents.size;
  log(
    `${questions.length} questions (${formatList(Array.from(types, ([type, { length }]) => `${length} ${type}`))}; ` +
      `${numGraphs} with a dependency graph)${to === 'flashrag' ? ` and ${numPassages} passages` : ''}: ${formatList(files)}`,
  );
  const numWithout = questions.filter(
    (question) => format && annotatedIds(question).some((id) => !passages.contents.has(id)),
  ).length;
  const numIncomplete = passages.numIncomplete + numWithout;
  const numBare = questions.filter(
    (question) => format && annotatedIds(question).length === 0,
  ).length;
  const numCut = format?.hasOneAnswer
    ? questions.filter(({ goldenAnswers }) => goldenAnswers.length > 1).length
    : 0;
  const losses: [count: number, text: string][] = [
    [
      to === 'flashrag' ? 0 : numPassages,
      `Left out ${to === 'verl' ? 'the passages: verl’s rows have none' : 'passages that support no question'}.`,
    ],
    [
      numSkipped,
      `Skipped ${numSkipped} rows without an answer, or without one in their paragraphs.`,
    ],
    [
      changed.length,
      `Left out ${changed.length} questions with dependencies that ${to} cannot state, such as ${changed[0]?.id}.`,
    ],
    [
      lost.length,
      `Wrote ${lost.length} questions without their dependency graph: ${to} cannot state it.`,
    ],
    [
      numIncomplete,
      `${numIncomplete} questions lack paragraphs that support them, as in HotpotQA’s fullwiki files: their evidence is incomplete.`,
    ],
    [
      numBare,
      `Wrote ${plural(numBare, 'question')} without paragraphs: their supporting passages are unknown.`,
    ],
    [numCut, `Kept only the first right answer of ${numCut} questions: ${to} has one.`],
  ];
  for (const [count, text] of losses) if (count > 0) log(text);
}

export const convertCommand = (): Command =>
  new Command('convert')
    .description(
      'convert questions and passages between HotpotQA, 2WikiMultiHopQA and MuSiQue as published, FlashRAG, and verl’s Parquet files',
    )
    .argument(
      '<sources...>',
      'benchmark files, verl’s Parquet files, or folders in the FlashRAG layout',
    )
    .requiredOption('-o, --out <folder>', 'output folder')
    .addOption(choice('--to <layout>', 'output layout', TARGETS, 'flashrag'))
    .addOption(
      choice(
        '--method <name>',
        'method whose prompt verl’s rows have',
        METHODS.names(),
        DEFAULT_METHOD,
      ),
    )
    .addOption(
      choice('--prompt-form <form>', 'form of the prompt in verl’s rows', PROMPT_FORMS, 'chat'),
    )
    .action(runConvert);
