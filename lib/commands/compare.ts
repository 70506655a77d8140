/** `parallelsearch compare RUN...`: several runs on one page. */
import { Command } from 'commander';
import { dataSetFiles, readQuestions } from '../data/flashrag.js';
import { writeFileSafely } from '../io/files.js';
import { compareHtml } from '../pages/compare/page.js';
import { parseSources, readComparedRuns, type RunSource } from '../pages/compare/runs.js';
import { log } from './cli-utils.js';

/**
 * Writes the page about runs and says where it is. @param data whose questions the
 * answers are about; default the small world
 */
export async function runCompare(
  sources: readonly RunSource[],
  { out, data }: { out: string; data?: string },
): Promise<void> {
  const runs = await readComparedRuns(sources);
  const questions = (await Promise.all(dataSetFiles(data).questions.map(readQuestions))).flat();
  await writeFileSafely(out, await compareHtml(runs, questions));
  log(`${runs.length} runs compared: ${out}`);
}

/** The `compare` command. */
export function compareCommand(): Command {
  return new Command('compare')
    .description(
      'write one page about several runs: final figures, settings that differ, curves, answers',
    )
    .argument(
      '<runs...>',
      'folders of `train`, files of `evaluate --out` or --trajectories; also NAME=PATH, and paths of one name are one run',
    )
    .option('-o, --out <file>', 'the page', 'compare.html')
    .option('--data <folder>', 'where the texts of the questions are; by default the small world')
    .action((texts: string[], settings: { out: string; data?: string }) =>
      runCompare(parseSources(texts), settings),
    );
}
