/**
 * `parallelsearch view FILE.jsonl...`: recorded trajectories as one HTML file to look
 * through.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { SMALL_WORLD } from '../io/paths.js';
import { REWARD_PRESET_NAMES } from '../rewards/presets.js';
import { readQuestions } from '../data/flashrag.js';
import { streamJsonLines } from '../io/json-lines.js';
import { viewerData } from '../pages/viewer/data.js';
import { writeViewer } from '../pages/viewer/page.js';
import { log as printLine } from './cli-utils.js';
import { parseTrajectory } from '../rollout/recorded.js';
import type { Trajectory } from '../rollout/trajectory.js';

export interface ViewSettings {
  out: string;
  title: string;
  preset: string;
  questions: string[];
  /** Where complaints and the result go; the process's stderr by default. */
  log?: (line: string) => void;
}

/**
 * A file, and the method that its lines are shown under where they name none, as given on
 * the command line: `METHOD=FILE`, or a file alone, whose name is the method's, or the
 * folder's for the `trajectories.jsonl` of a run.
 */
export function parseSource(text: string): { file: string; method: string } {
  const [, method, file] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (file && !existsSync(text)) return { file, method };
  if (text === '-') return { file: text, method: 'standard input' };
  const name = basename(text).replace(/\.jsonl$/, '');
  const folder = basename(dirname(resolve(text)));
  return { file: text, method: name === 'trajectories' ? folder : name };
}

/**
 * Writes the page. Lines that can't be read are named and left out. Returns the exit
 * code: 0, or 1 where a line or a file was bad.
 * @throws Error when there is no trajectory at all
 */
export async function runView(sources: readonly string[], settings: ViewSettings): Promise<number> {
  const { out, title, preset, log = printLine } = settings;
  let exitCode = 0;
  const runs: Trajectory[] = [];
  for (const { file, method } of sources.map(parseSource)) {
    for await (const outcome of streamJsonLines(file, parseTrajectory)) {
      if ('value' in outcome)
        runs.push({ ...outcome.value, method: outcome.value.method ?? method });
      else {
        exitCode = 1;
        log(outcome.complaint);
      }
    }
  }
  if (runs.length === 0)
    throw new Error(`Expected trajectories in ${sources.join(', ')}, but got none.`);
  const questions = (await Promise.all(settings.questions.map(readQuestions))).flat();
  log(await writeViewer(out, { title, data: viewerData(runs, { preset, questions }) }));
  return exitCode;
}

/** The `view` command. */
export function viewCommand(): Command {
  return new Command('view')
    .description(
      'write recorded trajectories into one HTML file to filter, search, read and compare',
    )
    .argument(
      '<files...>',
      'JSONL files of trajectories or transcripts, also METHOD=FILE; - reads standard input',
    )
    .option('--out <file>', 'the page', 'trajectories.html')
    .option('--title <text>', 'its title', 'Trajectories')
    .option(
      '--questions <files...>',
      'questions with types and dependency graphs (FlashRAG layout)',
      [join(SMALL_WORLD, 'questions.jsonl')],
    )
    .addOption(
      new Option('--preset <name>', 'rewards of lines that record none')
        .choices(REWARD_PRESET_NAMES)
        .default('paper'),
    )
    .action(async (files: string[], settings: ViewSettings) => {
      process.exitCode = await runView(files, settings);
    });
}
