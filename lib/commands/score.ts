/**
 * `parallelsearch score FILE.jsonl...`: scores recorded transcripts with the rewards of
 * Eq. 3 to 7.
 */
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { group, max, mean } from 'd3-array';
import { Command, Option } from 'commander';
import { REWARD_PRESET_NAMES, rewardOptions } from '../rewards/presets.js';
import { scoreTranscript, type TranscriptScore } from '../rewards/score.js';
import { parseTrajectory } from '../rollout/recorded.js';
import { streamJsonLines } from '../io/files.js';

export interface ScoreSettings {
  /** A name of `REWARD_PRESETS`. */
  preset: string;
  /** One JSON object a line instead of the table. */
  json?: boolean;
}

/** Where the command reads and writes; the process's own streams by default. */
export interface ScoreStreams {
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
}

const READER_GONE = new Set<string | undefined>(['EPIPE', 'ERR_STREAM_DESTROYED']);

/**
 * Writes text and waits where the stream is full; rejects with what is wrong with the
 * stream.
 */
function writerTo(stream: Writable): (text: string) => Promise<void> {
  // Without a listener the error would end the process; the call that wrote gets it, too.
  stream.on('error', () => undefined);
  return promisify<string, void>(
    (text, done) => void stream.write(text, (error) => done(error ?? null)),
  );
}

/**
 * Scores every line of every file (`-` is standard input). Lines that can't be scored
 * are named on stderr, the others are scored all the same; it ends quietly where nobody
 * reads on. Returns the exit code: 0, or 1 where a line or a file was bad.
 */
export async function runScore(
  files: readonly string[],
  settings: ScoreSettings,
  streams: ScoreStreams = process,
): Promise<number> {
  const options = rewardOptions(settings.preset);
  const score = (value: unknown): TranscriptScore =>
    scoreTranscript(parseTrajectory(value), options);
  const [print, complain] = [writerTo(streams.stdout), writerTo(streams.stderr)];
  const scores: TranscriptScore[] = [];
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
      const isNone = numScored === 0 && complaints.length > 1;
      const told = isNone
        ? `No line is a trajectory or transcript. The first: ${complaints[0]}`
        : complaints.join('\n');
      if (told) await complain(`${told}\n`);
    }
    const isComplaintEnough = scores.length === 0 && exitCode !== 0;
    if (!settings.json && !isComplaintEnough) await print(`${scoreTable(scores)}\n`);
  } catch (error) {
    if (!READER_GONE.has((error as NodeJS.ErrnoException).code)) throw error;
  }
  return exitCode;
}

const fixed = (value: number): string => value.toFixed(3);
const component = (name: string) => (score: TranscriptScore) => score.rewards[name];

/**
 * Columns of numbers: title, value, and how one is printed; means always have three
 * decimals.
 */
const COLUMNS: [string, (score: TranscriptScore) => number, (value: number) => string][] = [
  ['EM', ({ exactMatch }) => exactMatch, String],
  ['F1', ({ f1 }) => f1, fixed],
  ['format', ({ formatOk }) => Number(formatOk), (ok) => (ok ? 'ok' : 'bad')],
  ['turns', ({ turns }) => turns, String],
  ['decomposed', ({ decomposed }) => Number(decomposed), (yes) => (yes ? 'yes' : 'no')],
  ['outcome', component('outcome'), fixed],
  ['decomp.', component('decomposition'), fixed],
  ['searches', component('search_count'), fixed],
  ['format r.', component('format'), fixed],
  ['total', component('total'), fixed],
];
const WIDEST_ID = 28;

/** Shortens a long id from the front, which keeps what tells ids apart. */
const shortened = (id: string): string =>
  id.length > WIDEST_ID ? `…${id.slice(1 - WIDEST_ID)}` : id;

/**
 * An aligned table: a line each transcript, then the means of each shape that occurs and
 * of all.
 */
function scoreTable(scores: readonly TranscriptScore[]): string {
  if (scores.length === 0) return 'No transcripts.';
  const head = ['id', 'shape', ...COLUMNS.map(([title]) => title)];
  const body = scores.map((score) => [
    shortened(score.id) + (score.ambiguous ? ' ?' : ''),
    score.questionType ?? 'unknown',
    ...COLUMNS.map(([, value, print]) => print(value(score))),
  ]);
  const byShape = [...group(scores, ({ questionType }) => questionType ?? 'unknown')];
  const means = [...(byShape.length > 1 ? byShape : []), ['mean', scores] as const].map(
    ([label, some]) => [
      label,
      `n = ${some.length}`,
      ...COLUMNS.map(([, value]) => fixed(mean(some, value)!)),
    ],
  );
  const widths = head.map((_, i) => max([head, ...body, ...means], (row) => row[i].length)!);
  const isWords = (column: number): boolean => column < 2;
  const print = (row: readonly string[]): string =>
    row
      .map((cell, i) => (isWords(i) ? cell.padEnd(widths[i]) : cell.padStart(widths[i])))
      .join('  ');
  const rule = '-'.repeat(print(head).length);
  const numAmbiguous = scores.filter(({ ambiguous }) => ambiguous).length;
  const note = `? does not tell who wrote what (${numAmbiguous} of ${scores.length}): information in doubt counts as the policy's own, and --json says why.`;
  const lines = [print(head), rule, ...body.map(print), rule, ...means.map(print)];
  return [...lines, ...(numAmbiguous > 0 ? [note] : [])].join('\n');
}

/** The `score` command. */
export function scoreCommand(): Command {
  return new Command('score')
    .description('score recorded transcripts with the rewards of Eq. 3 to 7')
    .argument('<files...>', 'JSONL files of trajectories or transcripts; - reads standard input')
    .addOption(
      new Option('--preset <name>', 'reward options').choices(REWARD_PRESET_NAMES).default('paper'),
    )
    .option('--json', 'one JSON object a line instead of the table')
    .action(async (files: string[], settings: ScoreSettings) => {
      process.exitCode = await runScore(files, settings);
    });
}
