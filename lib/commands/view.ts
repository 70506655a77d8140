/** `parallelsearch view FILE.jsonl...`: writes recorded trajectories as one HTML file. */
import { basename, dirname, join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { readQuestions } from '../data/flashrag.js';
import { streamJsonLines } from '../io/files.js';
import { SMALL_WORLD } from '../io/paths.js';
import { viewerData } from '../pages/viewer/data.js';
import { writeViewer } from '../pages/viewer/page.js';
import { parseSource } from '../report/compared-runs.js';
import { REWARD_PRESET_NAMES } from '../rewards/presets.js';
import { parseTrajectory } from '../rollout/recorded.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { choice, exitWith, log as logLine } from './common/cli-utils.js';

interface ViewSettings {
  out: string;
  title: string;
  preset: string;
  questions: string[];
  log?: (line: string) => void;
}

/** The method of lines that name none: the file's name, or a run's folder's. */
export function defaultMethod(file: string): string {
  if (file === '-') return 'standard input';
  const name = basename(file, '.jsonl');
  return name === 'trajectories' ? basename(dirname(resolve(file))) : name;
}

/**
 * Writes the page. Bad lines are logged and skipped; the exit code is then 1.
 * @throws Error if there is no trajectory
 */
export async function runView(sources: readonly string[], settings: ViewSettings): Promise<number> {
  const { out, title, preset, log = logLine } = settings;
  let exitCode = 0;
  const runs: Trajectory[] = [];
  for (const { name, path } of sources.map(parseSource)) {
    for await (const outcome of streamJsonLines(path, parseTrajectory)) {
      if ('value' in outcome)
        runs.push({
          ...outcome.value,
          method: name ?? outcome.value.method ?? defaultMethod(path),
        });
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

export function viewCommand(): Command {
  return new Command('view')
    .description('view recorded trajectories: writes one HTML file to filter, search and compare')
    .argument(
      '<files...>',
      'JSONL files of trajectories, transcripts or OpenAI messages (see docs/data.md), or NAME=FILE to name the method; - reads standard input',
    )
    .option('--out <file>', 'output file', 'trajectories.html')
    .option('--title <text>', 'page title', 'Trajectories')
    .addOption(
      new Option(
        '--questions <files...>',
        'questions with types and dependency graphs (FlashRAG layout)',
      ).default([join(SMALL_WORLD, 'questions.jsonl')], 'the small world’s'),
    )
    .addOption(
      choice(
        '--preset <name>',
        'reward preset for lines without recorded rewards',
        REWARD_PRESET_NAMES,
        'paper',
      ),
    )
    .action(exitWith(runView));
}
