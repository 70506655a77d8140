/** `parallelsearch score FILE.jsonl...`: scores recorded transcripts with the rewards of Eq. 3 to 7. */
import { createReadStream } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { Command, Option } from 'commander';
import type { RewardOptions } from '../rewards/options.js';
import { REWARD_PRESET_NAMES, rewardOptions } from '../rewards/presets.js';
import { formatScoreTable } from '../rewards/score-table.js';
import { scoreLine, type TranscriptScore } from '../rewards/score.js';

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

/** A line and its number in the file, from 1. */
type SourceLine = { number: number; text: string };

/** The lines of a stream, cut at line feeds only (JSON text may hold U+2028), without a byte order mark. */
async function* readLines(stream: Readable): AsyncGenerator<SourceLine> {
  stream.setEncoding('utf8');
  let rest = '';
  let number = 0;
  for await (const chunk of stream as AsyncIterable<string>) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const text of parts) yield { number: ++number, text: number === 1 ? withoutMark(text) : text };
  }
  if (rest !== '') yield { number: ++number, text: number === 1 ? withoutMark(rest) : rest };
}

const withoutMark = (text: string): string => (text.startsWith('\uFEFF') ? text.slice(1) : text);
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What reading one source gave, one at a time: a score, or a complaint that names file and line. */
type Outcome = { score: TranscriptScore } | { complaint: string };

async function* scoreSource(file: string, stdin: Readable, options: RewardOptions): AsyncGenerator<Outcome> {
  const name = file === '-' ? '<stdin>' : file;
  try {
    for await (const { number, text } of readLines(file === '-' ? stdin : createReadStream(file))) {
      if (text.trim() === '') continue;
      try {
        yield { score: scoreLine(text, options) };
      } catch (error) {
        yield { complaint: `${name}:${number}: ${messageOf(error)}` };
      }
    }
  } catch (error) {
    yield { complaint: `${name}: ${messageOf(error)}` };
  }
}

/** Writes text and waits where the stream is full; resolves to false once the reader has gone (EPIPE). */
type Write = (text: string) => Promise<boolean>;

const READER_GONE = new Set(['EPIPE', 'ERR_STREAM_DESTROYED']);

function createWriter(stream: Writable): Write {
  let failure: NodeJS.ErrnoException | undefined;
  stream.on('error', (error: NodeJS.ErrnoException) => (failure ??= error));
  return (text) =>
    new Promise((resolve, reject) => {
      const settle = (error?: NodeJS.ErrnoException | null): void => {
        if (!error) resolve(true);
        else if (READER_GONE.has(error.code ?? '')) resolve(false);
        else reject(error);
      };
      if (failure) settle(failure);
      else stream.write(text, (error) => settle(failure ?? error));
    });
}

/**
 * Scores every line of every file (`-` is standard input). Lines that can't be scored are named on stderr,
 * the others are scored all the same. Returns the exit code: 0, or 1 where a line or a file was bad.
 */
export async function runScore(
  files: readonly string[],
  settings: ScoreSettings,
  streams: ScoreStreams = process,
): Promise<number> {
  const options = rewardOptions(settings.preset);
  const [print, complain] = [createWriter(streams.stdout), createWriter(streams.stderr)];
  const scores: TranscriptScore[] = [];
  let exitCode = 0;
  for (const file of files) {
    for await (const outcome of scoreSource(file, streams.stdin, options)) {
      if ('complaint' in outcome) {
        exitCode = 1;
        await complain(`${outcome.complaint}\n`);
      } else if (!settings.json) scores.push(outcome.score);
      else if (!(await print(`${JSON.stringify(outcome.score)}\n`))) return exitCode;
    }
  }
  if (!settings.json) await print(`${formatScoreTable(scores)}\n`);
  return exitCode;
}

/** The `score` command. */
export function scoreCommand(): Command {
  return new Command('score')
    .description('score recorded transcripts with the rewards of Eq. 3 to 7')
    .argument('<files...>', 'JSONL files of trajectories or transcripts; - reads standard input')
    .addOption(new Option('--preset <name>', 'reward options').choices(REWARD_PRESET_NAMES).default('paper'))
    .option('--json', 'one JSON object a line instead of the table')
    .action(async (files: string[], settings: ScoreSettings) => {
      process.exitCode = await runScore(files, settings);
    });
}
