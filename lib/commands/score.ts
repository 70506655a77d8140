/** `parallelsearch score FILE.jsonl...`: scores recorded transcripts (Eq. 3 to 7). */
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { readQuestions } from '../data/flashrag.js';
import { createQuestionFinder, questionType } from '../data/question.js';
import { labelTrajectory, type Behaviour } from '../evaluation/behaviour.js';
import { streamJsonLines } from '../io/files.js';
import { REWARD_PRESET_NAMES, scoringRules } from '../rewards/presets.js';
import { scoreTranscript, type TranscriptScore } from '../rewards/score.js';
import { parseTrajectory } from '../rollout/recorded.js';
import { formatList, plural } from '../text/english.js';
import { choice, exitWith, parseCount } from './common/cli-utils.js';
import {
  ANSWER_COLUMNS,
  behaviourTable,
  fixed,
  meanRows,
  formatTable,
  type Column,
} from './common/tables.js';

export interface ScoreSettings {
  preset: string;
  json?: boolean;
  behaviour?: boolean;
  questions?: string[];
  maxTurns?: number;
}

type Score = TranscriptScore & {
  /** Ids repeat across benchmarks and methods; null if unknown. */
  benchmark: string | null;
  method: string | null;
  behaviour?: Behaviour;
};

interface ScoreStreams {
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
}

const READER_GONE = new Set<string | undefined>(['EPIPE', 'ERR_STREAM_DESTROYED']);

/** Writes text and waits while the stream is full; rejects with the stream's errors. */
function createWriter(stream: Writable): (text: string) => Promise<void> {
  // Without a listener, the error would end the process; `write` reports it, too.
  stream.on('error', () => undefined);
  return promisify<string, void>(
    (text, done) => void stream.write(text, (error) => done(error ?? null)),
  );
}

/**
 * Scores the lines of files (`-` is standard input) and reports invalid ones on stderr.
 * Ends quietly if the reader has closed the output. Returns the exit code: 1 if a line or
 * file was invalid.
 */
export async function runScore(
  files: readonly string[],
  settings: ScoreSettings,
  streams: ScoreStreams = process,
): Promise<number> {
  const rules = scoringRules(settings.preset);
  const find = createQuestionFinder(
    (await Promise.all((settings.questions ?? []).map(readQuestions))).flat(),
  );
  let numUnknown = 0;
  const score = (value: unknown): Score => {
    const parsed = parseTrajectory(value);
    if (parsed.goldenAnswers.length === 0)
      throw new Error('golden_answers: Expected at least one right answer that is not blank.');
    const trajectory = { ...parsed, maxSearchTurns: parsed.maxSearchTurns ?? settings.maxTurns };
    const { questionId: id, question: text, goldenAnswers, metadata } = trajectory;
    const question = find({ id, question: text, benchmark: metadata?.benchmark, goldenAnswers });
    if (!question) numUnknown++;
    const type = trajectory.questionType ?? (question && questionType(question));
    const scored = scoreTranscript({ ...trajectory, questionType: type }, rules);
    return {
      benchmark: metadata?.benchmark ?? question?.metadata.benchmark ?? null,
      method: trajectory.method ?? null,
      ...scored,
      ...(settings.behaviour && { behaviour: labelTrajectory(trajectory, question) }),
    };
  };
  const print = createWriter(streams.stdout);
  const complain = createWriter(streams.stderr);
  const scores: Score[] = [];
  let exitCode = 0;
  try {
    for (const file of files) {
      const complaints: string[] = [];
      let numScored = 0;
      for await (const outcome of streamJsonLines(file, score, streams.stdin)) {
        if ('complaint' in outcome) {
          complaints.push(outcome.complaint);
          continue;
        }
        numScored++;
        if (settings.json) {
          const { rewards, ...others } = outcome.value;
          await print(`${JSON.stringify({ ...others, ...rewards })}\n`);
        } else scores.push(outcome.value);
      }
      if (complaints.length > 0) exitCode = 1;
      const report =
        numScored === 0 && complaints.length > 1
          ? `No line is a trajectory or transcript. The first: ${complaints[0]}`
          : complaints.join('\n');
      if (report) await complain(`${report}\n`);
    }
    if (settings.questions && numUnknown > 0)
      await complain(
        `Found no matching question in ${formatList(settings.questions)} for ${plural(numUnknown, 'transcript')}.\n`,
      );
    if (!settings.json && (scores.length > 0 || exitCode === 0)) {
      const types = scores.map((one) => ({ ...one, type: typeName(one) }));
      const behaviour = settings.behaviour ? `\n${behaviourTable(types)}\n` : '';
      await print(`${transcriptTable(scores)}\n${behaviour}`);
    }
  } catch (error) {
    if (!READER_GONE.has((error as NodeJS.ErrnoException).code)) throw error;
  }
  return exitCode;
}

const tableRow = (score: Score) => ({ ...score, em: score.exactMatch });
type Row = ReturnType<typeof tableRow>;

const typeName = ({ questionType }: Pick<Row, 'questionType'>): string => questionType ?? 'unknown';

const component = (title: string, name: string): Column<Row> => ({
  title,
  value: ({ rewards }) => rewards[name],
});
const COLUMNS: readonly Column<Row>[] = [
  ...ANSWER_COLUMNS,
  component('outcome', 'outcome'),
  component('decomp.', 'decomposition'),
  component('searches', 'search_count'),
  component('format r.', 'format'),
  component('total', 'total'),
];
/** Formats of columns; others have three decimals. */
const PRINTED: Readonly<Record<string, (value: number) => string>> = {
  EM: String,
  format: (ok) => (ok ? 'ok' : 'bad'),
  turns: String,
  calls: String,
  decomposed: (yes) => (yes ? 'yes' : 'no'),
};
const MAX_ID_WIDTH = 28;

/** Keeps the end of a long id, where ids differ. */
const shortenId = (id: string): string =>
  id.length > MAX_ID_WIDTH ? `…${id.slice(1 - MAX_ID_WIDTH)}` : id;

/** A row per transcript, then means by method, benchmark, question type and of all. */
function transcriptTable(scores: readonly Score[]): string {
  if (scores.length === 0) return 'No transcripts.';
  const rows = scores.map(tableRow);
  const body = rows.map((row) => [
    shortenId(row.id) + (row.ambiguous ? ' ?' : ''),
    typeName(row),
    ...COLUMNS.map(({ title, value }) => (PRINTED[title] ?? fixed)(value(row))),
  ]);
  const head = ['id', 'question type', ...COLUMNS.map(({ title }) => title)];
  const keys = [
    ({ method }: Row) => method ?? 'no method',
    ({ benchmark }: Row) => benchmark ?? 'no benchmark',
    typeName,
  ];
  const means = meanRows(rows, COLUMNS, { keys, all: 'mean' });
  const table = formatTable(head, body, means);
  const numAmbiguous = scores.filter(({ ambiguous }) => ambiguous).length;
  if (numAmbiguous === 0) return table;
  return `${table}\n?: ${numAmbiguous} of ${scores.length} transcripts do not show which parts the model wrote; information in doubt counts as the policy's. --json gives the reason.`;
}

export function scoreCommand(): Command {
  return new Command('score')
    .description('score recorded transcripts with the rewards of Eq. 3 to 7')
    .argument(
      '<files...>',
      'JSONL files of trajectories, transcripts or OpenAI messages (see docs/data.md); - is standard input',
    )
    .addOption(choice('--preset <name>', 'reward preset', REWARD_PRESET_NAMES, 'paper'))
    .option('--json', 'print JSON Lines instead of the table')
    .option(
      '--behaviour',
      'add behaviour labels and their shares: compound queries, repetitions, giving up and more',
    )
    .option('--questions <files...>', 'questions with dependency graphs (FlashRAG layout)')
    .option('--max-turns <n>', 'limit of search turns, for lines that do not state it', parseCount)
    .addHelpText(
      'after',
      `
A line of a file:
  {"id": "q1", "golden_answers": ["Bo Reed"], "messages": [{"role": "user", "content": "..."}, ...]}`,
    )
    .action(exitWith(runScore));
}
