/**
 * Writes the pages besides the reports: playground, trajectories, index and README. The
 * last stage of `npm start`.
 */
import { join } from 'node:path';
import { readQuestions } from '../../lib/data/flashrag.js';
import { rolloutForRun } from '../../lib/experiments/running/policy-runs.js';
import {
  loadTrajectories,
  TRAJECTORY_REWARDS,
  TRAJECTORY_SAMPLE,
} from '../../lib/experiments/trajectories.js';
import { SMALL_WORLD } from '../../lib/io/paths.js';
import { asScript } from '../../lib/io/scripts.js';
import type { PageInfo } from '../../lib/pages/notebook/reports.js';
import { exportPlayground, PLAYGROUND } from '../../lib/pages/playground/page.js';
import { provenanceSection, sectionMarkup } from '../../lib/pages/sections.js';
import { listMethods } from '../../lib/pages/viewer/browser/filter.js';
import { viewerData } from '../../lib/pages/viewer/data.js';
import { writeViewer } from '../../lib/pages/viewer/page.js';
import { markup } from '../../lib/report/markup.js';
import { REWARD_PRESETS } from '../../lib/rewards/presets.js';
import { parseTrajectory } from '../../lib/rollout/recorded.js';
import { formatList } from '../../lib/text/english.js';
import { writeIndex } from './index-page.js';
import { answersPicture } from './pictures.js';
import { writeReadme } from './readme.js';

/** Methods in the index's pictures of the playground and of the trajectories. */
const SHOWN_METHODS = ['ParallelSearch (instruct)', 'Search-R1 (instruct)'] as const;

interface ExportTrajectoriesOptions {
  outDir: string;
  /** This machine's recorded results. Default: the experiments' folder. */
  folder?: string;
  /** File of the questions with their graphs. Default: the small world's. */
  questions?: string;
}

/** The page of recorded trajectories, as listed in the index. */
const TRAJECTORIES = {
  name: 'trajectories',
  title: 'Trajectories',
  description: 'What each method did with a sample of questions: search, filter and compare.',
};

/**
 * Writes `trajectories.html` to `outDir` and returns its path.
 * @throws Error naming the command that records trajectories, if there are none
 */
export async function exportTrajectories({
  outDir,
  folder,
  questions: questionFile = join(SMALL_WORLD, 'questions.jsonl'),
}: ExportTrajectoriesOptions): Promise<string> {
  const { lines, provenance } = await loadTrajectories(folder);
  const questions = await readQuestions(questionFile);
  const recorded = lines.map((line) => ({
    ...parseTrajectory(line),
    maxSearchTurns: rolloutForRun(line.run).maxSearchTurns,
  }));
  const data = viewerData(recorded, { preset: TRAJECTORY_REWARDS, questions });
  const asked = new Set(data.trajectories.map(({ questionId }) => questionId));
  const [numTrajectories, numQuestions] = [data.trajectories.length, asked.size].map((count) =>
    count.toLocaleString('en'),
  );
  const description = `${numTrajectories} trajectories: ${numQuestions} questions, each answered by ${formatList(listMethods(data))}.`;
  const paragraphs = [
    description,
    `A random sample of one in ${TRAJECTORY_SAMPLE.oneOf} questions of each benchmark and question type, with a fixed seed; none was used in training. Answers are greedy, with BM25, as in the main comparison. “Search-R1 + parallel prompt” is Search-R1’s weights with ParallelSearch’s prompt. Everything is from a small synthetic world: read the trajectories here, and see the other reports for figures with intervals.`,
    `All trajectories are scored with the same rewards, whatever their policy was trained with: ${REWARD_PRESETS[TRAJECTORY_REWARDS].source} There are no advantages, since each policy answers a question once.`,
  ];
  const text = paragraphs.map((paragraph) => markup('p', paragraph));
  const about = [
    markup('div', text),
    sectionMarkup(provenanceSection(provenance, { isOpen: true })),
  ];
  const file = join(outDir, 'trajectories.html');
  await writeViewer(file, { title: TRAJECTORIES.title, description, about, data });
  return file;
}

interface PagesTask {
  folder: string;
  /** Whether trajectories are recorded for these weights. */
  hasTrajectories: boolean;
}

asScript<PagesTask>(import.meta.url, async ({ folder, hasTrajectories }, { log }) => {
  const pages: PageInfo[] = [PLAYGROUND];
  if (hasTrajectories) {
    log(`Report: ${await exportTrajectories({ outDir: folder })}`);
    const { lines } = await loadTrajectories();
    const [right, wrong] = [true, false].map((first) =>
      answersPicture(lines, SHOWN_METHODS, { first }),
    );
    pages[0] = { ...PLAYGROUND, picture: right };
    pages.push({ ...TRAJECTORIES, picture: wrong });
  }
  log(`Report: ${await exportPlayground({ outDir: folder, log })}`);
  await writeIndex(folder, pages);
  await writeReadme(folder);
});
