/**
 * The report to look through: the trajectories of the experiment of that name in the
 * viewer.
 */
import { join } from 'node:path';
import {
  loadTrajectories,
  TRAJECTORY_REWARDS,
  TRAJECTORY_SAMPLE,
} from '../../experiments/trajectories.js';
import { readQuestions } from '../../data/flashrag.js';
import { SMALL_WORLD } from '../../io/paths.js';
import { REWARD_PRESETS } from '../../rewards/presets.js';
import { parseTranscript } from '../../rollout/recorded.js';
import type { Provenance } from '../../io/provenance.js';
import { viewerData, type ViewerData } from './data.js';
import { writeViewer } from './page.js';
import { methodsOf } from './browser/groups.js';
import { escapeHtml } from '../../html/markup.js';
import { provenanceHtml } from '../../html/provenance.js';
import { listed } from '../../text/listed.js';

const TITLE = 'Trajectories to read';

function descriptionOf(data: ViewerData): string {
  const [numTrajectories, numQuestions] = [data.trajectories, data.questions].map((items) =>
    items.length.toLocaleString('en'),
  );
  return `${numTrajectories} trajectories in full: ${numQuestions} questions, each answered by ${listed(methodsOf(data))}. Filter them, search them, read them turn by turn, two side by side.`;
}

/** What is on the page, and where it comes from. */
function aboutHtml(data: ViewerData, provenance: Provenance): string {
  const paragraphs = [
    descriptionOf(data),
    `The questions are one in ${TRAJECTORY_SAMPLE.oneOf} of every benchmark and kind, drawn at random with a fixed seed; no policy was trained on them. The answers are greedy, with BM25, as in the main comparison. “Search-R1 + parallel prompt” has the weights of Search-R1 and ParallelSearch’s prompt. Policies, questions and passages are those of a small world of invented things: this is to read, the figures with their intervals are in the other reports.`,
    `Every trajectory is given the same rewards, whatever its policy was trained for, so that they can be compared: ${REWARD_PRESETS[TRAJECTORY_REWARDS].source} An advantage compares the rollouts of a group, in training; here every policy answers a question once and has none.`,
  ];
  const text = paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`).join('');
  return `<div>${text}</div>${provenanceHtml(provenance, { isOpen: true })}`;
}

export interface ExportTrajectoriesOptions {
  /** Of this machine's results; default that of the experiments. */
  folder?: string;
  outDir: string;
  /** File of the questions with their graphs; default that of the small world. */
  questions?: string;
  /** Lines for people; default none. */
  log?: (line: string) => void;
}

/**
 * Writes `trajectories.html` into `outDir` and returns its name.
 * @throws Error naming the command that records trajectories, where they are missing
 */
export async function exportTrajectories(options: ExportTrajectoriesOptions): Promise<string> {
  const {
    folder,
    outDir,
    questions: questionFile = join(SMALL_WORLD, 'questions.jsonl'),
    log,
  } = options;
  const { lines, provenance } = await loadTrajectories(folder);
  const questions = await readQuestions(questionFile);
  const data = viewerData(lines.map(parseTranscript), { preset: TRAJECTORY_REWARDS, questions });
  const page = {
    title: TITLE,
    description: descriptionOf(data),
    about: aboutHtml(data, provenance),
  };
  const file = join(outDir, 'trajectories.html');
  const written = await writeViewer(file, { ...page, data });
  log?.(`trajectories: ${written}`);
  return file;
}
