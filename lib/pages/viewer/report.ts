/** The report to look through: the trajectories of the experiment of that name in the viewer. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { TRAJECTORIES_FILE } from '../../experiments/trajectories/run.js';
import { MINI_WIKI } from '../../io/paths.js';
import { readJson } from '../../io/files.js';
import { REWARD_PRESET_NAMES, REWARD_PRESETS } from '../../rewards/presets.js';
import type { ViewerData } from './data.js';
import { readViewerLines, viewerDataOf, writeViewer } from './files.js';
import { methodsOf } from './page/groups.js';
import { escapeHtml } from '../../html/cells.js';
import { provenanceHtml } from '../../html/provenance.js';

const COMMAND = 'npx parallelsearch experiment trajectories';
const TITLE = 'Trajectories of test questions';

/** `A, B and C`. */
const LISTED = new Intl.ListFormat('en-GB');

const recordSchema = z.object({
  config: z.looseObject({
    preset: z.enum(REWARD_PRESET_NAMES),
    sample: z.looseObject({ oneOf: z.int().min(1) }),
  }),
  provenance: z.record(z.string(), z.unknown()),
});
type TrajectoriesRecord = z.infer<typeof recordSchema>;

function descriptionOf(data: ViewerData): string {
  const [numTrajectories, numQuestions] = [data.trajectories, data.questions].map((items) =>
    items.length.toLocaleString('en'),
  );
  return `${numTrajectories} trajectories in full: ${numQuestions} test questions, each answered by ${LISTED.format(methodsOf(data))}. Filter them, search them, read them turn by turn, two side by side.`;
}

/** What is on the page, and where it comes from. */
function aboutHtml(data: ViewerData, { config, provenance }: TrajectoriesRecord): string {
  const { sample, preset } = config;
  const paragraphs = [
    descriptionOf(data),
    `The questions are one in ${sample.oneOf} of every benchmark and kind, drawn at random with a fixed seed; no policy was trained on them. The answers are greedy, with BM25, as in the main comparison. “Search-R1 + parallel prompt” has the weights of Search-R1 and ParallelSearch’s prompt. Policies, questions and passages are those of a small world of real facts: this is to read, the figures with their intervals are in the other reports.`,
    `Every trajectory is given the same rewards, whatever its policy was trained for, so that they can be compared: ${REWARD_PRESETS[preset].source} An advantage compares the rollouts of a group, in training; here every policy answers a question once and has none.`,
  ];
  const text = paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`).join('');
  return `<div>${text}</div>${provenanceHtml(provenance)}`;
}

async function readRecord(file: string): Promise<TrajectoriesRecord> {
  const parsed = recordSchema.safeParse(await readJson(file));
  if (parsed.success) return parsed.data;
  const reason = z.prettifyError(parsed.error);
  throw new Error(
    `Expected ${file} to be a record of trajectories, but:\n${reason}\nRun "${COMMAND} --force".`,
  );
}

export interface ExportTrajectoriesOptions {
  /** The experiment's folder, with `results.json` and `trajectories.jsonl`. */
  folder: string;
  outDir: string;
  /** Files of the questions with their graphs; default those of the mini-wiki. */
  questions?: readonly string[];
  /** Lines for people; default none. */
  log?: (line: string) => void;
}

/**
 * Writes `trajectories.html` into `outDir` and returns its name.
 * @throws Error naming the file that is missing or does not fit
 */
export async function exportTrajectories(options: ExportTrajectoriesOptions): Promise<string> {
  const { questions = [join(MINI_WIKI, 'questions.jsonl')], log } = options;
  const files = ['results.json', TRAJECTORIES_FILE].map((name) => join(options.folder, name));
  const missing = files.find((file) => !existsSync(file));
  if (missing) throw new Error(`Expected ${missing} to exist, but it does not. Run "${COMMAND}" first.`);
  const [results, trajectories] = files;
  const record = await readRecord(results);
  const lines = await readViewerLines([{ file: trajectories, method: 'unknown' }], (complaint) => {
    throw new Error(complaint);
  });
  const data = await viewerDataOf(lines, { preset: record.config.preset, questions });
  const page = { title: TITLE, description: descriptionOf(data), about: aboutHtml(data, record) };
  const file = join(options.outDir, 'trajectories.html');
  const written = await writeViewer(file, { ...page, data });
  log?.(`trajectories: ${written}`);
  return file;
}
