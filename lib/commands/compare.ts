/** `parallelsearch compare RUN...`: several runs on one page. */
import { Command } from 'commander';
import { writeFileSafely } from '../io/files.js';
import { compareHtml, readComparison } from '../pages/compare/page.js';
import { parseSources, type RunSource } from '../pages/compare/runs.js';
import { log } from './cli-utils.js';

/**
 * Writes the page.
 * @param data the data set of the answers; default that of the runs, or the small world
 */
export async function runCompare(
  sources: readonly RunSource[],
  { out, data }: { out: string; data?: string },
): Promise<void> {
  const { runs, ...asked } = await readComparison(sources, { data });
  await writeFileSafely(out, await compareHtml(runs, asked));
  log(`${runs.length} runs compared: ${out}`);
}

export function compareCommand(): Command {
  return new Command('compare')
    .description(
      'compare runs: writes one HTML file with final figures, settings, curves and answers',
    )
    .argument(
      '<runs...>',
      'output folders of `train`, files of `evaluate --out` or --trajectories, or NAME=PATH; paths with the same name are one run',
    )
    .option('-o, --out <file>', 'output file', 'compare.html')
    .option(
      '--data <folder>',
      'data set with the questions (default: that of the runs, or the small world)',
    )
    .action((texts: string[], settings: { out: string; data?: string }) =>
      runCompare(parseSources(texts), settings),
    );
}
