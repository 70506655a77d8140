/**
 * Writes the pages beside the reports: playground, trajectories, their index and README.
 * The end of `npm start`.
 */
import { loadTrajectories } from '../../lib/experiments/trajectories.js';
import type { PageInfo } from '../../lib/experiments/reports.js';
import { trainHere } from '../../lib/io/processes.js';
import { exportPlayground, PLAYGROUND } from '../../lib/pages/playground/page.js';
import { writeIndex } from './index-page.js';
import { answersPicture } from './pictures.js';
import { writeReadme } from './readme.js';
import { exportTrajectories, TRAJECTORIES } from './trajectories.js';

/** Of the playground's picture in the index. */
const SHOWN_METHODS = ['ParallelSearch (instruct)', 'Search-R1 (instruct)'] as const;

interface PagesTask {
  folder: string;
  /** Whether trajectories are recorded for these weights. */
  hasTrajectories: boolean;
}

trainHere<PagesTask>(import.meta.url, async ({ folder, hasTrajectories }, { log }) => {
  const pages: PageInfo[] = [PLAYGROUND];
  if (hasTrajectories) {
    log(`Report: ${await exportTrajectories({ outDir: folder })}`);
    const { lines } = await loadTrajectories();
    pages[0] = { ...PLAYGROUND, picture: answersPicture(lines, SHOWN_METHODS) };
    pages.push(TRAJECTORIES);
  }
  log(`Report: ${await exportPlayground({ outDir: folder, log })}`);
  await writeIndex(folder, pages);
  await writeReadme(folder);
});
