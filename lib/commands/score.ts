/** `parallelsearch score FILE.jsonl...`: scores recorded transcripts (Eq. 3 to 7). */
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
  /** JSON Lines instead of the table. */
  json?: boolean;
}

export interface ScoreStreams {
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
}

const READER_GONE = new Set<string | undefined>(['EPIPE', 'ERR_STREAM_DESTROYED']);

/** Writes text and waits if the stream is full; rejects with the stream's errors. */
function createWriter(stream: Writable): (text: string) => Promise<void> {
  // Without a listener the error would end the process; `write` reports it too.
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
  const options = rewardOptions(settings.preset);
  const score = (value: unknown): TranscriptScore =>
    scoreTranscript(parseTrajectory(value), options);
  const [print, complain] = [createWriter(streams.stdout), createWriter(streams.stderr)];
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
      const hasNone = numScored === 0 && complaints.length > 1;
      const report = hasNone
        ? `No line is a trajectory or transcript. The first: ${complaints[0]}`
        : complaints.join('\n');
      if (report) await complain(`${report}\n`);
    }
    const hasOnlyComplaints = scores.length === 0 && exitCode !== 0;
    if (!settings.json && !hasOnlyComplaints) await print(`${scoreTable(scores)}\n`);
  } catch (error) {
    if (!READER_GONE.has((error as NodeJS.ErrnoException).code)) throw error;
  }
  return exitCode;
}

const fixed = (value: number): string => value.toFixed(3);
const component = (name: string) => (score: TranscriptScore) => score.rewards[name];

/** Columns of numbers: title, value, format. Means always have three decimals. */
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
const MAX_ID_WIDTH = 28;

/** Keeps the end of a long id, where ids differ. */
const shortenId = (id: string): string =>
  id.length > MAX_ID_WIDTH ? `…${id.slice(1 - MAX_ID_WIDTH)}` : id;

/** A row per transcript, then means per question type and of all. */
function scoreTable(scores: readonly TranscriptScore[]): string {
  if (scores.length === 0) return 'No transcripts.';
  const head = ['id', 'question type', ...COLUMNS.map(([title]) => title)];
  const body = scores.map((score) => [
    shortenId(score.id) + (score.ambiguous ? ' ?' : ''),
    score.questionType ?? 'unknown',
    ...COLUMNS.map(([, value, print]) => print(value(score))),
  ]);
  const byType = [...group(scores, ({ questionType }) => questionType ?? 'unknown')];
  const means = [...(byType.length > 1 ? byType : []), ['mean', scores] as const].map(
    ([label, members]) => [
      label,
      `n = ${members.length}`,
      ...COLUMNS.map(([, value]) => fixed(mean(members, value)!)),
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
  const note = `?: ${numAmbiguous} of ${scores.length} transcripts do not tell who wrote what; information in doubt counts as the policy's. --json gives the reason.`;
  const lines = [print(head), rule, ...body.map(print), rule, ...means.map(print)];
  return [...lines, ...(numAmbiguous > 0 ? [note] : [])].join('\n');
}

/** The `score` command. */
export function scoreCommand(): Command {
  return new Command('score')
    .description('score recorded transcripts with the rewards of Eq. 3 to 7')
    .argument('<files...>', 'JSONL files of trajectories or transcripts; - is standard input')
    .addOption(
      new Option('--preset <name>', 'reward options').choices(REWARD_PRESET_NAMES).default('paper'),
    )
    .option('--json', 'JSON Lines instead of the table')
    .action(async (files: string[], settings: ScoreSettings) => {
      process.exitCode = await runScore(files, settings);
    });
}
