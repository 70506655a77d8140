/** `parallelsearch score FILE.jsonl...`: scores recorded transcripts with the rewards of Eq. 3 to 7. */
import type { Readable, Writable } from 'node:stream';
import { Command, Option } from 'commander';
import { streamJsonLines } from '../io/json-lines.js';
import { REWARD_PRESET_NAMES, rewardOptions } from '../rewards/presets.js';
import { scoreTranscript, type TranscriptScore } from '../rewards/score.js';
import { parseTranscript } from '../rollout/recorded.js';
import { formatScoreTable } from './score-table.js';

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

/** A line of JSON, the components of the reward beside the rest. */
const printScore = ({ rewards, ...score }: TranscriptScore): string =>
  `${JSON.stringify({ ...score, ...rewards })}\n`;

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
  const score = (value: unknown): TranscriptScore => scoreTranscript(parseTranscript(value), options);
  const [print, complain] = [createWriter(streams.stdout), createWriter(streams.stderr)];
  const scores: TranscriptScore[] = [];
  let exitCode = 0;
  for (const file of files) {
    for await (const outcome of streamJsonLines(file, score, streams.stdin)) {
      if ('complaint' in outcome) {
        exitCode = 1;
        await complain(`${outcome.complaint}\n`);
      } else if (!settings.json) scores.push(outcome.value);
      else if (!(await print(printScore(outcome.value)))) return exitCode;
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
