/** `parallelsearch compare RUN...`: several runs on one page. */
import { basename, resolve } from 'node:path';
import { Command } from 'commander';
import { dataSetFiles, readQuestions } from '../data/flashrag.js';
import { writeFileSafely } from '../io/files.js';
import { compareHtml } from '../pages/compare/page.js';
import { parseSources, readComparedRuns, type RunSource } from '../pages/compare/runs.js';
import { log } from './cli-utils.js';

/**
 * Writes the page.
 * @param data the data set of the answers; default the small world
 */
export async function runCompare(
  sources: readonly RunSource[],
  { out, data }: { out: string; data?: string },
): Promise<void> {
  const runs = await readComparedRuns(sources);
  const read = (await Promise.all(dataSetFiles(data).questions.map(readQuestions))).flat();
  const benchmark = data === undefined ? undefined : basename(resolve(data));
  const questions = read.map(({ metadata, ...question }) => ({
    ...question,
    metadata: { benchmark, ...metadata },
  }));
  await writeFileSafely(out, await compareHtml(runs, { questions, data: benchmark }));
  log(`${runs.length} runs compared: ${out}`);
}

/** The `compare` command. */
export function compareCommand(): Command {
  return new Command('compare')
    .description(
      'compare runs: writes one HTML file with final figures, settings, curves and answers',
    )
    .argument(
      '<runs...>',
      'folders of `train`, files of `evaluate --out` or --trajectories, or NAME=PATH; paths of one name are one run',
    )
    .option('-o, --out <file>', 'output file', 'compare.html')
    .option('--data <folder>', 'data set with the questions (default: the small world)')
    .action((texts: string[], settings: { out: string; data?: string }) =>
      runCompare(parseSources(texts), settings),
    );
}
