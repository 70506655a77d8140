/**
 * `parallelsearch data check FOLDER`: what a data set contains, enables and gets wrong.
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
import { selectSplit, evaluatedSplit, questionType } from '../data/question.js';
import { isSmallWorld } from '../data/small-world.js';
import { packagePath, shortPath } from '../io/paths.js';
import { TRAINED_MODELS } from '../policy/trained-models.js';
import { formatList } from '../text/format-list.js';
import { convertCommand } from './convert.js';
import { makeCommand } from './make.js';

const MAX_COMPLAINTS = 10;

const count = (number: number): string => number.toLocaleString('en');

/** `299 train and 195 test`, largest first. */
function countBy<T>(items: readonly T[], name: (item: T) => string): string {
  const groups = sort(
    rollup(items, ({ length }) => length, name),
    ([, a], [, b]) => b - a,
  );
  return formatList(groups.map(([key, number]) => `${count(number)} ${key}`));
}

/** Complaints about evidence that is not in the corpus. */
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
          `question ${id}: evidence ${passage} is not among the ${count(ids.size)} passages.`,
      ),
  );
}

/** Lines about what `evaluate` and `train` can do with the questions. */
function enabledCommands(questions: readonly Question[]): [string, string][] {
  const split = evaluatedSplit(questions);
  const [evaluated, trained] = [split, 'train'].map((name) => selectSplit(questions, name));
  const numGraphs = evaluated.filter(({ metadata }) => metadata.graph?.length).length;
  const hasTypes = trained.some((question) => questionType(question));
  return [
    [
      'evaluate',
      evaluated.length === 0
        ? `no questions of ${split}: use --split`
        : `${count(evaluated.length)} questions of ${split}: EM, F1, turns, calls and time; sub-question recall, evidence recall and ` +
          (numGraphs > 0
            ? `critical path of the ${count(numGraphs)} with a graph`
            : 'critical path need graphs'),
    ],
    [
      'train --method search-r1',
      trained.length === 0
        ? 'no questions of train'
        : `${count(trained.length)} questions of train`,
    ],
    [
      'train',
      hasTypes
        ? 'ParallelSearch’s rewards know from type or graph what is parallelizable'
        : 'ParallelSearch’s rewards need a type or a graph, such as "metadata": {"type": "comparison"}',
    ],
  ];
}

/** Prints what is in a folder. Returns the exit code: 1 if something is wrong. */
export async function runDataCheck(folder: string): Promise<number> {
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const row = (name: string, text: string): void => print(`  ${name.padEnd(24)}  ${text}`);
  const complaints: string[] = [];
  const complain = (complaint: string): void => void complaints.push(complaint);
  const files = dataSetFiles(folder);

  print(`${folder}:`);
  const passages = files.passages
    ? parsePassages(await readText(files.passages), files.passages, complain)
    : [];
  if (files.passages) row(basename(files.passages), `${count(passages.length)} passages`);
  else
    complain(
      `${folder}: expected corpus.jsonl or passages.jsonl; without it only a server can be searched.`,
    );
  const questions: Question[] = [];
  for (const file of files.questions) {
    const fileQuestions = withSplit(parseQuestions(await readText(file), file, complain), file);
    row(
      basename(file),
      `${count(fileQuestions.length)} questions: ${countBy(fileQuestions, ({ split }) => split ?? 'in every split')}`,
    );
    questions.push(...fileQuestions);
  }
  if (files.questions.length === 0)
    complain(
      `${folder}: expected questions.jsonl, train.jsonl, dev.jsonl or test.jsonl; without it only ask works.`,
    );
  for (const name of ['train.jsonl', 'dev.jsonl', 'test.jsonl', 'passages.jsonl'])
    if (
      existsSync(join(folder, name)) &&
      ![files.passages, ...files.questions].includes(join(folder, name))
    )
      row(name, 'is ignored: another file takes precedence');
  const typed = questions.filter(({ metadata }) => metadata.type);
  const graphs = questions.filter(({ metadata }) => metadata.graph?.length);
  const typeName = ({ metadata: { type } }: Question): string =>
    `${type} (${questionType({ metadata: { type } }) ?? 'unknown, so not parallelizable'})`;
  row('type', typed.length > 0 ? countBy(typed, typeName) : 'none');
  row('dependency graph', `${count(graphs.length)} of ${count(questions.length)} questions`);
  evidenceComplaints(questions, passages).forEach(complain);

  print('\nUsable for');
  if (passages.length > 0) row('ask, playground', `searching ${count(passages.length)} passages`);
  if (passages.length + questions.length > 0 && !(await isSmallWorld(folder)))
    row(
      'models',
      `ask and evaluate: --model ${TRAINED_MODELS.names()[0]} (the default) or --policy http://HOST/v1; train: a Hugging Face folder. base-* and instruct-* only know the small world`,
    );
  if (questions.length > 0) enabledCommands(questions).forEach((line) => row(...line));
  print(`How to add types or graphs: ${shortPath(packagePath('docs', 'data.md'))}`);

  print(complaints.length > 0 ? `\n${count(complaints.length)} problems:` : '\nNo problems.');
  complaints.slice(0, MAX_COMPLAINTS).forEach((complaint) => print(`  ${complaint}`));
  if (complaints.length > MAX_COMPLAINTS)
    print(`  and ${count(complaints.length - MAX_COMPLAINTS)} more`);
  return complaints.length > 0 ? 1 : 0;
}

/** The `data` command. */
export function dataCommand(): Command {
  const check = new Command('check')
    .description(
      'print what a folder in the FlashRAG layout contains, what it can be used for, and problems',
    )
    .argument('<folder>', 'passages and questions')
    .action(async (folder: string) => {
      process.exitCode = await runDataCheck(folder);
    });
  return new Command('data')
    .description(
      'your own data: passages out of documents (data make), check (data check), convert (data convert)',
    )
    .addCommand(makeCommand())
    .addCommand(check)
    .addCommand(convertCommand());
}
