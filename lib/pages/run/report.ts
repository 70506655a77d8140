import path from 'node:path';
import { writeFileSafely } from '../../io/files.js';
import { runPageHtml, type RunDescription } from './html.js';
import { readRun } from './run-folder.js';

/** Writes the page of a run into its folder as `report.html`, one file that works offline. Returns its path. */
export async function writeRunReport(folder: string, run: RunDescription): Promise<string> {
  const file = path.join(folder, 'report.html');
  await writeFileSafely(file, await runPageHtml(run, await readRun(folder)));
  return file;
}
