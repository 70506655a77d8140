/** The viewer's page out of files of recorded trajectories. */
import { readQuestions } from '../../data/flashrag.js';
import { streamJsonLines } from '../../io/json-lines.js';
import { writeFileSafely } from '../../io/files.js';
import { parseTranscript, type RecordedRun } from '../../rollout/recorded.js';
import { viewerData, type ViewerData } from './data.js';
import { viewerHtml, type ViewerPage } from './html.js';

/** A file to read and the method that its lines are shown under where they name none. */
export interface ViewSource {
  file: string;
  method: string;
}

/** The lines of all sources in order; those that can't be read are left out and told to `onComplaint`. */
export async function readRuns(
  sources: readonly ViewSource[],
  onComplaint: (complaint: string) => void,
): Promise<RecordedRun[]> {
  const runs: RecordedRun[] = [];
  for (const { file, method } of sources) {
    for await (const outcome of streamJsonLines(file, parseTranscript)) {
      if ('value' in outcome) runs.push({ ...outcome.value, method: outcome.value.method ?? method });
      else onComplaint(outcome.complaint);
    }
  }
  return runs;
}

/**
 * Prepares lines for the page.
 * @param options the reward preset of lines that record no rewards; files of questions with types and dependency graphs
 */
export async function viewerDataOf(
  runs: readonly RecordedRun[],
  { preset, questions }: { preset: string; questions: readonly string[] },
): Promise<ViewerData> {
  return viewerData(runs, { preset, questions: (await Promise.all(questions.map(readQuestions))).flat() });
}

/** Writes the page and returns a line that says what it holds. */
export async function writeViewer(file: string, page: ViewerPage): Promise<string> {
  const html = await viewerHtml(page);
  await writeFileSafely(file, html);
  const count = page.data.trajectories.length.toLocaleString('en');
  return `${count} trajectories, ${(Buffer.byteLength(html) / 1e6).toFixed(1)} MB: ${file}`;
}
