/** `parallelsearch ask "QUESTION"`: answers one question and prints it as it happens. */
import { styleText } from 'node:util';
import { Command } from 'commander';
import { answerQuestion, type AnswerEvent } from '../rollout/answer-question.js';
import {
  NO_ANSWER,
  UNRELATED_PASSAGES,
  type SearchTurn,
  type Trajectory,
} from '../rollout/trajectory.js';
import { printable } from '../io/system-errors.js';
import { plural } from '../text/english.js';
import { unknownNamesWarning } from '../text/names.js';
import { openTag, type Tag } from '../text/tags.js';
import { exitWith, interruptible, log } from './common/cli-utils.js';
import { withPolicyOptions, type PolicySpec } from './common/options.js';
import { setUp } from './common/setup.js';

type Style = Parameters<typeof styleText>[0];

/** Colours of blocks, the same as on the pages. */
const STYLES: Readonly<Record<Tag, Style>> = {
  think: 'magenta',
  search: 'blue',
  information: 'dim',
  answer: ['green', 'bold'],
};

/** Writes text, in colour on a terminal unless NO_COLOR is set. */
const write = (text: string, style?: Style): void => {
  const isColoured = style !== undefined && process.stdout.isTTY && process.stdout.hasColors();
  const shown = printable(text);
  process.stdout.write(isColoured ? styleText(style, shown) : shown);
};

/** Warns of searches that failed or found only unrelated passages. */
function warnOfSearches({ queries, results }: SearchTurn): void {
  for (const [i, result] of results.entries()) {
    const fault = result.status === 'ok' ? result.isUnlike && UNRELATED_PASSAGES : result.detail;
    if (fault) write(`${queries[i]}: ${fault}\n`, 'yellow');
  }
}

/** The unwritten rest of a policy's segment: the tag or search that streams lack. */
function unwritten(text: string, written: string): string {
  const shown = written.trimEnd(); // servers may end a thought with a line break
  if (text.startsWith(shown)) return text.slice(shown.length);
  const search = text.lastIndexOf('<search>');
  return search < 0 || written.includes('<search>') ? '' : `\n${text.slice(search)}`;
}

/** Writes the policy's text as it arrives, and what it is shown. */
function createWriter(): (event: AnswerEvent) => void {
  /** The policy's segment so far; remote policies may send all text at the end. */
  let written = '';
  return (event) => {
    if (event.type === 'text') {
      const before = openTag(written);
      const tag = openTag((written += event.text)) ?? before;
      write(event.text, tag && STYLES[tag]);
      return;
    }
    if (event.segment === 'policy') write(unwritten(event.text, written));
    else write(event.text.trim(), event.segment === 'notice' ? 'yellow' : STYLES.information);
    written = '';
    write('\n');
    if (event.turn) warnOfSearches(event.turn);
  };
}

function writeAnswer(
  { answer, finish, searchTurns, modelCalls }: Trajectory,
  elapsedMs: number,
): void {
  const missing = finish === 'budget' || finish === 'length' ? NO_ANSWER[finish] : 'No answer.';
  write('\n');
  write(answer === null ? missing : `Answer: ${answer}`, STYLES.answer);
  write('\n');
  const numQueries = searchTurns.flatMap(({ queries }) => queries).length;
  const counts = [
    plural(searchTurns.length, 'search turn'),
    plural(numQueries, 'sub-query', 'sub-queries'),
    plural(modelCalls, 'model call'),
  ];
  log(`${counts.join(', ')}, ${(elapsedMs / 1000).toFixed(1)} s`);
}

/** Answers a question; the exit code is 130 after Ctrl-C. */
export async function runAsk(question: string, settings: PolicySpec): Promise<number> {
  if (question.trim() === '') throw new Error('Expected a question, but got empty text.');
  return interruptible(
    async (signal) => {
      const brief = { isBrief: true };
      const { policy, rollout, retriever, passages } = await setUp(settings, signal, brief);
      const contents = passages.map((passage) => passage.contents);
      const outside = contents.length > 0 && unknownNamesWarning(question, contents);
      if (outside) log(outside);
      const start = performance.now();
      const options = { rollout, signal, onEvent: createWriter() };
      const trajectory = await answerQuestion(question, { policy, retriever }, options);
      if (trajectory.refusal !== undefined) throw new Error(trajectory.refusal);
      writeAnswer(trajectory, performance.now() - start);
    },
    { stopped: 'Stopped.' },
  );
}

export function askCommand(): Command {
  const command = new Command('ask')
    .description('ask a question and watch the policy think, search and answer')
    .argument('<question>', 'the question, in quotes');
  return withPolicyOptions(command).action(exitWith(runAsk));
}
