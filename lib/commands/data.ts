/**
 * `parallelsearch data check FOLDER`: what is in a data set's folder, what each part
 * enables, and what is wrong.
 */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { rollup, sort } from 'd3-array';
import { Command } from 'commander';
import {
  dataSetFiles,
  parsePassages,
  parseQuestions,
  readText,
  withSplit,
  type Passage,
  type Question,
} from '../data/flashrag.js';
import { questionsOfSplit, evaluatedSplit, questionType } from '../data/question.js';
import { packagePath, shortPath } from '../io/paths.js';
import { listed } from '../text/listed.js';
import { convertCommand } from './convert.js';

/** Complaints of one kind that are printed; there may be one for each line. */
const MOST_COMPLAINTS = 10;

const count = (number: number): string => number.toLocaleString('en');

/** `299 train and 195 test`, the largest first. */
function counted<T>(items: readonly T[], nameOf: (item: T) => string): string {
  const groups = sort(
    rollup(items, ({ length }) => length, nameOf),
    ([, a], [, b]) => b - a,
  );
  return listed(groups.map(([name, number]) => `${count(number)} ${name}`));
}

/** Questions whose evidence names passages that the corpus lacks. */
function evidenceComplaints(
  questions: readonly Question[],
  passages: readonly Passage[],
): string[] {
  const ids = new Set(passages.map(({ id }) => id));
  return questions.flatMap(({ id, metadata: { graph = [] } }) =>
    graph
      .flatMap(({ evidence }) => evidence)
      .filter((passage) => !ids.has(passage))
      .map(
        (passage) =>
          `question ${id}: evidence ${passage} is none of the ${count(ids.size)} passages.`,
      ),
  );
}

/** What `evaluate` and `train` can do with questions, a line each. */
function enabledBy(questions: readonly Question[]): [string, string][] {
  const split = evaluatedSplit(questions);
  const [asked, learnt] = [split, 'train'].map((name) => questionsOfSplit(questions, name));
  const numGraphs = asked.filter(({ metadata }) => metadata.graph?.length).length;
  const areTold = learnt.some((question) => questionType(question));
  return [
    [
      'evaluate',
      asked.length === 0
        ? `no questions of ${split}: name another split by --split`
        : `${count(asked.length)} questions of ${split}: EM, F1, turns, calls and time; coverage, evidence seen and critical ` +
          (numGraphs > 0 ? `path of the ${count(numGraphs)} with a graph` : 'path need graphs'),
    ],
    [
      'train --method search-r1',
      learnt.length === 0 ? 'no questions of train' : `${count(learnt.length)} questions of train`,
    ],
    [
      'train',
      areTold
        ? 'type or graph tells the rewards of ParallelSearch which questions are parallelizable'
        : 'the rewards of ParallelSearch need type or a graph, as "metadata": {"type": "comparison"}',
    ],
  ];
}

/** Says what a folder has; the exit code is 1 where something is wrong with it. */
export async function runDataCheck(folder: string): Promise<number> {
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const row = (name: string, text: string): void => print(`  ${name.padEnd(24)}  ${text}`);
  const complaints: string[] = [];
  const complain = (complaint: string): void => void complaints.push(complaint);
  const files = dataSetFiles(folder);

  print(`${folder} has`);
  const passages = files.passages
    ? parsePassages(await readText(files.passages), files.passages, complain)
    : [];
  if (files.passages) row(basename(files.passages), `${count(passages.length)} passages`);
  else
    complain(
      `${folder}: expected corpus.jsonl or passages.jsonl; without one only a server can be searched.`,
    );
  const questions: Question[] = [];
  for (const file of files.questions) {
    const some = withSplit(parseQuestions(await readText(file), file, complain), file);
    row(
      basename(file),
      `${count(some.length)} questions: ${counted(some, ({ split }) => split ?? 'of every split')}`,
    );
    questions.push(...some);
  }
  if (files.questions.length === 0)
    complain(
      `${folder}: expected questions.jsonl, train.jsonl, dev.jsonl or test.jsonl; without one it can only be asked.`,
    );
  for (const name of ['train.jsonl', 'dev.jsonl', 'test.jsonl', 'passages.jsonl'])
    if (
      existsSync(join(folder, name)) &&
      ![files.passages, ...files.questions].includes(join(folder, name))
    )
      row(name, 'is not read: another file has its place');
  const typed = questions.filter(({ metadata }) => metadata.type);
  const graphs = questions.filter(({ metadata }) => metadata.graph?.length);
  const typeOf = ({ metadata: { type } }: Question): string =>
    `${type} (${questionType({ metadata: { type } }) ?? 'not known, so not parallelizable'})`;
  row('type', typed.length > 0 ? counted(typed, typeOf) : 'none');
  row('dependency graph', `${count(graphs.length)} of ${count(questions.length)} questions`);
  evidenceComplaints(questions, passages).forEach(complain);

  print('\nWhat that is good for');
  if (passages.length > 0) row('ask, playground', `search in ${count(passages.length)} passages`);
  if (questions.length > 0) enabledBy(questions).forEach((line) => row(...line));
  print(
    `How to add type or a graph, with an example: ${shortPath(packagePath('docs', 'data.md'))}`,
  );

  print(
    complaints.length > 0
      ? `\n${count(complaints.length)} things are wrong`
      : '\nNothing is wrong.',
  );
  complaints.slice(0, MOST_COMPLAINTS).forEach((complaint) => print(`  ${complaint}`));
  if (complaints.length > MOST_COMPLAINTS)
    print(`  and ${count(complaints.length - MOST_COMPLAINTS)} more`);
  return complaints.length > 0 ? 1 : 0;
}

/** The `data` command. */
export function dataCommand(): Command {
  const check = new Command('check')
    .description(
      'say what is in a folder in the FlashRAG layout, what each part is good for, and what is wrong',
    )
    .argument('<folder>', 'passages and questions')
    .action(async (folder: string) => {
      process.exitCode = await runDataCheck(folder);
    });
  return new Command('data')
    .description('look at data of your own (data check), or convert it (data convert)')
    .addCommand(check)
    .addCommand(convertCommand());
}
