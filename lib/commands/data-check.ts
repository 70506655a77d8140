/**
 * `parallelsearch data check FOLDER`: what a data set contains, enables and gets wrong.
 */
import { basename } from 'node:path';
import { Command } from 'commander';
import { cross, group, rollup, sort } from 'd3-array';
import {
  dataSetFiles,
  formatQuestions,
  ignoredFiles,
  parseQuestions,
  readText,
  streamPassages,
  withSplit,
  type Passage,
  type Question,
  isSmallWorld,
} from '../data/flashrag.js';
import { selectSplit, evaluatedSplit, questionType } from '../data/question.js';
import { writeFileSafely } from '../io/files.js';
import { packagePath, shortPath } from '../io/paths.js';
import { startProgress } from '../io/progress.js';
import { TRAINED_MODELS } from '../policy/folders/trained-models.js';
import { findAnswerRanks, findStatedAnswers } from '../retrieval/recall.js';
import {
  createRetriever,
  DEFAULT_RETRIEVER,
  isAddress,
  isLargeFile,
} from '../retrieval/retrievers.js';
import { normalizeAnswer, statableAnswers } from '../text/answer-match.js';
import { formatList, countText } from '../text/english.js';
import { exitWith } from './common/cli-utils.js';
import { limitOption, withSearchOptions, type RetrieverSettings } from './common/options.js';
import {
  announceBackend,
  requireSearchOptions,
  sampleAndLog,
  warnOfEncoder,
} from './common/setup.js';
import { meanRows, formatTable, type Column } from './common/tables.js';

interface CheckSettings extends Omit<RetrieverSettings, 'data'> {
  limit?: number;
  out?: string;
}

const MAX_LINES = 10;
/** Numbers of passages in which an answer is looked for. */
const DEPTHS = [1, 3, 10];

/** Counts by name, largest first: `299 train and 195 test`. */
function countBy<T>(items: readonly T[], name: (item: T) => string): string {
  const groups = sort(
    rollup(items, ({ length }) => length, name),
    ([, a], [, b]) => b - a,
  );
  return formatList(groups.map(([key, number]) => `${countText(number)} ${key}`));
}

/**
 * Reads a passage file once, without keeping the passages of a large one. `missing`:
 * evidence of the questions that is not in it.
 */
async function countPassages(
  file: string | undefined,
  questions: readonly Question[],
  complain: (complaint: string) => void,
) {
  const missing = new Set(questions.flatMap(allEvidence));
  const passages: Passage[] = [];
  let numPassages = 0;
  if (file === undefined) return { numPassages, passages, missing };
  const isLarge = isLargeFile(file);
  for await (const { passage } of streamPassages(file, complain)) {
    numPassages++;
    missing.delete(passage.id);
    if (!isLarge) passages.push(passage);
  }
  return { numPassages, passages, missing };
}

const allEvidence = ({ metadata: { graph = [], supporting } }: Question): string[] => [
  ...new Set([
    ...graph.flatMap(({ evidence }) => evidence),
    ...(Array.isArray(supporting) ? supporting.map(String) : []),
  ]),
];

/** Warns of items with the text of an earlier one. */
function sameTextWarnings<T extends { id: string }>(
  name: string,
  items: readonly T[],
  text: (item: T) => string,
): string[] {
  const pairs = [...group(items, text).values()].flatMap(([first, ...others]) =>
    others.map(({ id }) => `${id} (${first.id})`),
  );
  if (pairs.length === 0) return [];
  return [
    `${countText(pairs.length)} of ${countText(items.length)} ${name} repeat the text of an earlier one, such as ${pairs[0]}.`,
  ];
}

/** Warns of passages and questions with the same text, and of ids in several files. */
function repeatWarnings({ questions, passages }: Contents): string[] {
  const bySplit = group(questions, ({ split }) => split ?? 'every split');
  const sameText = cross(['train'], ['dev', 'test']).concat([['dev', 'test']]);
  const texts = sameText.flatMap(([first, second]) => {
    const earlier = new Map(
      (bySplit.get(first) ?? []).map(({ question, id }) => [normalizeAnswer(question), id]),
    );
    const later = bySplit.get(second) ?? [];
    const same = later.filter(({ question }) => earlier.has(normalizeAnswer(question)));
    if (same.length === 0) return [];
    const [{ id, question }] = same;
    return [
      `${countText(same.length)} of ${countText(later.length)} questions of ${second} are also in ${first}, such as ${id} (${earlier.get(normalizeAnswer(question))} in ${first}): ${question}`,
    ];
  });
  const repeated = [...group(questions, ({ id }) => id)].filter(([, { length }]) => length > 1);
  const ids = repeated.map(([id, members]) => {
    const names = members.map(({ split, metadata: { benchmark } }) =>
      [benchmark, split].filter(Boolean).join(' '),
    );
    return `${id} is the id of ${members.length} questions: ${formatList(names)}. Put the benchmark before the id.`;
  });
  const twice = [...bySplit].flatMap(([split, members]) =>
    sameTextWarnings(`questions of ${split}`, members, ({ question }) => normalizeAnswer(question)),
  );
  const copies = sameTextWarnings('passages', passages, ({ contents }) => contents);
  return [...texts, ...twice, ...copies, ...ids];
}

interface Coverage {
  /** Questions whose answer a passage can state. */
  questions: Question[];
  /** Whether any passage does; undefined without passages here. */
  stated?: boolean[];
  /** For each retriever, the rank of the first such passage. */
  ranks: Map<string, number[]>;
}

/** Looks for answers in all passages, and in what BM25 and `--retriever` find. */
async function measureCoverage(
  questions: readonly Question[],
  { file, passages }: { file: string | undefined; passages: readonly Passage[] },
  { retriever = DEFAULT_RETRIEVER, analyzer, encoder, index, backend }: CheckSettings,
): Promise<Coverage> {
  requireSearchOptions({ encoder }, retriever);
  const statable = questions.filter(
    ({ goldenAnswers }) => statableAnswers(goldenAnswers).length > 0,
  );
  const names = [...new Set([DEFAULT_RETRIEVER, retriever])].filter(
    (name) => file !== undefined || isAddress(name),
  );
  if (encoder !== undefined) await announceBackend(backend);
  const ranks: Coverage['ranks'] = new Map();
  const options = { analyzer, encoder, index };
  const topK = Math.max(...DEPTHS);
  for (const name of names) {
    const source = file !== undefined && isLargeFile(file) ? file : passages;
    const opened = await createRetriever(name, source, options);
    const progress = startProgress(`Searching with ${opened.name}`, statable.length);
    const onBatch = (done: number): void => progress.update(done);
    const answerRanks = await findAnswerRanks(opened, statable, { topK, onBatch }).finally(() =>
      progress.stop(),
    );
    ranks.set(isAddress(name) ? opened.name : name, answerRanks);
  }
  const all = file !== undefined && passages.length === 0 ? onlyPassages(file) : passages;
  const stated = file === undefined ? undefined : await findStatedAnswers(statable, all);
  return { questions: statable, stated, ranks };
}

async function* onlyPassages(file: string): AsyncGenerator<Passage> {
  for await (const { passage } of streamPassages(file)) yield passage;
}

function coverageTable({ questions, stated, ranks }: Coverage): string {
  const label = ({ metadata }: Question): string =>
    [metadata.benchmark, metadata.type ?? questionType({ metadata })].filter(Boolean).join(' ');
  const rows = questions.map((question, i) => ({ label: label(question) || 'without type', i }));
  type Row = (typeof rows)[number];
  const columns: Column<Row>[] = [
    ...(stated ? [{ title: 'stated', value: ({ i }: Row) => Number(stated[i]) }] : []),
    ...[...ranks].flatMap(([name, found]) =>
      DEPTHS.map((k) => ({ title: `${name}@${k}`, value: ({ i }: Row) => Number(found[i] <= k) })),
    ),
  ];
  const body = meanRows(rows, columns, { keys: [(row) => row.label], all: 'all' });
  return formatTable(['questions', '', ...columns.map(({ title }) => title)], body);
}

/** What `evaluate` and `train` can do with the questions, by command. */
function enabledCommands(questions: readonly Question[]): Record<string, string> {
  const split = evaluatedSplit(questions);
  const evaluated = selectSplit(questions, split);
  const trained = selectSplit(questions, 'train');
  const numGraphs = evaluated.filter(({ metadata }) => metadata.graph?.length).length;
  const graphs =
    numGraphs > 0
      ? `critical path of the ${countText(numGraphs)} with a graph`
      : 'critical path need graphs';
  return {
    evaluate:
      evaluated.length === 0
        ? `no questions of ${split}: use --split`
        : `${countText(evaluated.length)} questions of ${split}: EM, F1, turns, calls and time; sub-question recall, evidence recall and ${graphs}`,
    'train --method search-r1': `${trained.length === 0 ? 'no' : countText(trained.length)} questions of train`,
    train: trained.some((question) => questionType(question))
      ? 'ParallelSearch’s rewards know from type or graph what is parallelizable'
      : 'ParallelSearch’s rewards need a type or a graph, such as "metadata": {"type": "comparison"}',
  };
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const printRow = (name: string, text: string): void => print(`  ${name.padEnd(24)}  ${text}`);

function printSome(lines: readonly string[]): void {
  lines.slice(0, MAX_LINES).forEach((line) => print(`  ${line}`));
  if (lines.length > MAX_LINES) print(`  and ${countText(lines.length - MAX_LINES)} more`);
}

interface Contents extends Awaited<ReturnType<typeof countPassages>> {
  folder: string;
  file: string | undefined;
  questionFiles: [file: string, questions: Question[]][];
  questions: Question[];
}

/** @param complain is called with each problem, those of passages first */
async function readContents(
  folder: string,
  complain: (complaint: string) => void,
): Promise<Contents> {
  const { passages: file, questions: files } = dataSetFiles(folder);
  const questionFiles: Contents['questionFiles'] = [];
  const faults: string[] = [];
  for (const each of files) {
    const parsed = parseQuestions(await readText(each), each, (fault) => void faults.push(fault));
    questionFiles.push([each, withSplit(parsed, each)]);
  }
  const questions = questionFiles.flatMap(([, ofFile]) => ofFile);
  const counted = await countPassages(file, questions, complain);
  faults.forEach(complain);
  return { folder, file, questionFiles, questions, ...counted };
}

/** Problems that reading does not find: missing files, blank texts, missing evidence. */
function* findProblems(contents: Contents): Generator<string> {
  const { folder, file, questionFiles, questions, numPassages, missing } = contents;
  if (file === undefined) {
    yield `${folder}: expected corpus.jsonl or passages.jsonl; without it only a server can be searched.`;
    if (questionFiles.length === 0)
      yield `${folder}: expected questions.jsonl, train.jsonl, dev.jsonl or test.jsonl.`;
  }
  for (const { id, question } of questions)
    if (question.trim() === '') yield `question ${id}: expected a text, but it is blank.`;
  for (const question of questions)
    for (const id of allEvidence(question).filter((each) => missing.has(each)))
      yield `question ${question.id}: evidence ${id} is not among the ${countText(numPassages)} passages.`;
}

/** Prints the files of a folder, and the types and graphs of its questions. */
function printContents({ folder, file, questionFiles, questions, numPassages }: Contents): void {
  print(`${folder}:`);
  if (file !== undefined) printRow(basename(file), `${countText(numPassages)} passages`);
  for (const [each, ofFile] of questionFiles)
    printRow(
      basename(each),
      `${countText(ofFile.length)} questions: ${countBy(ofFile, ({ split }) => split ?? 'in every split')}`,
    );
  for (const name of ignoredFiles(folder))
    printRow(
      name,
      /^(corpus|passages|questions|train|dev|test)\.jsonl/.test(name)
        ? 'is ignored: another file takes precedence'
        : 'is ignored: questions are in questions, train, dev and test.jsonl, passages in corpus.jsonl',
    );
  if (questions.length === 0) return;
  const typeName = ({ metadata: { type } }: Question): string =>
    `${type} (${questionType({ metadata: { type } }) ?? 'unknown, so not parallelizable'})`;
  const typed = questions.filter(({ metadata }) => metadata.type);
  const graphs = questions.filter(({ metadata }) => metadata.graph?.length);
  printRow('type', typed.length > 0 ? countBy(typed, typeName) : 'none');
  printRow(
    'dependency graph',
    `${countText(graphs.length)} of ${countText(questions.length)} questions`,
  );
}

/** Prints what commands can do with the data, and with which models. */
async function printUses({ folder, questions, numPassages }: Contents): Promise<void> {
  print('\nUsable for');
  if (numPassages > 0) printRow('ask, playground', `searching ${countText(numPassages)} passages`);
  if (numPassages + questions.length > 0 && !(await isSmallWorld(folder)))
    printRow(
      'models',
      `ask and evaluate: --model ${TRAINED_MODELS.names()[0]} (the default) or --policy chat:https://HOST/v1; train: a Hugging Face folder. base-*, instruct-*, hasty-* and paired-* only know the small world`,
    );
  if (questions.length > 0)
    Object.entries(enabledCommands(questions)).forEach((line) => printRow(...line));
  else
    printRow('evaluate, train', 'no questions: add questions.jsonl, or train.jsonl and test.jsonl');
  print(`How to add questions, types or graphs: ${shortPath(packagePath('docs', 'data.md'))}`);
}

/** Prints in how many passages answers are found; returns the questions without any. */
async function printCoverage(
  sample: readonly Question[],
  contents: Pick<Contents, 'file' | 'passages'>,
  settings: CheckSettings,
): Promise<Question[]> {
  const coverage = await measureCoverage(sample, contents, settings);
  const { questions: statable, stated } = coverage;
  print('\nAnswers in the passages, normalised as for exact match');
  if (statable.length > 0) print(coverageTable(coverage));
  print('stated: by any passage; @k: by one of the first k passages for the question as the query');
  if (statable.length < sample.length)
    print(
      `Not counted, since no passage can state the answer (such as yes or no): ${countText(sample.length - statable.length)}`,
    );
  const unanswerable = stated ? statable.filter((_, i) => !stated[i]) : [];
  if (unanswerable.length > 0)
    print(`\nQuestions whose answer no passage states: ${countText(unanswerable.length)}`);
  printSome(
    unanswerable.map(
      ({ id, question, goldenAnswers }) => `${id}: ${question} (${goldenAnswers.join(' | ')})`,
    ),
  );
  return unanswerable;
}

/** Prints what a folder contains. Returns the exit code: 1 if something is wrong. */
async function runDataCheck(folder: string, settings: CheckSettings): Promise<number> {
  const { limit, out, retriever = DEFAULT_RETRIEVER } = settings;
  const complaints: string[] = [];
  const contents = await readContents(folder, (complaint) => void complaints.push(complaint));
  const { numPassages, passages, questions } = contents;
  // A large file is read again, which stops at the first problem.
  const isSearched = numPassages > 0 && (passages.length > 0 || complaints.length === 0);
  complaints.push(...findProblems(contents));
  printContents(contents);
  await printUses(contents);

  const sample = limit === undefined ? questions : sampleAndLog(questions, limit);
  const file = isSearched ? contents.file : undefined;
  if (sample.length > 0 && (file !== undefined || isAddress(retriever))) {
    if (file !== undefined) await warnOfEncoder({ ...settings, retriever, data: folder });
    const unanswerable = await printCoverage(sample, { file, passages }, settings);
    if (out !== undefined) {
      await writeFileSafely(out, formatQuestions(unanswerable));
      print(`All of them: ${out}`);
    }
  } else if (out !== undefined)
    complaints.push(`${folder}: expected questions and passages to compare for ${out}.`);

  const warnings = repeatWarnings(contents);
  if (warnings.length > 0) print(`\nWarnings: ${countText(warnings.length)}`);
  printSome(warnings);
  const problems = complaints.length === 1 ? 'problem' : 'problems';
  const count = complaints.length > 0 ? `${countText(complaints.length)} ${problems}:` : '';
  print(`\n${count || 'No problems.'}`);
  printSome(complaints);
  return complaints.length > 0 ? 1 : 0;
}

export function checkCommand(): Command {
  const check = new Command('check')
    .description(
      'print what a folder in the FlashRAG layout contains, what it can be used for, how many answers the passages state and retrieval finds, and any problems',
    )
    .argument('<folder>', 'passages and questions')
    .addOption(limitOption())
    .option('--out <file>', 'write the questions whose answer no passage states (JSONL)');
  return withSearchOptions(check).action(exitWith(runDataCheck));
}
