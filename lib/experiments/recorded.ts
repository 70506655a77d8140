/**
 * Results of experiments that are kept in the repository, for machines that have not the time. They count only while the hash
 * of everything that they depend on is still the same, and say of themselves that they were recorded.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { packagePath } from '../io/paths.js';
import { writeFileSafely } from '../io/files.js';
import { EXPERIMENTS_FOLDER, experimentState, hashOfResults, type Experiment } from './experiment.js';

interface Folders {
  /** Holds a folder of results for each experiment. */
  root?: string;
  /** The same, of those that are kept; each file is compressed. */
  recorded?: string;
}

const RECORDED_EXPERIMENTS = packagePath('data', 'results', 'experiments');
const RESULTS = 'results.json';
/** Files that say where the numbers come from. */
const STATES_ITS_SOURCE = new Set([RESULTS, 'provenance.json']);

/**
 * Keeps an experiment's results in the repository.
 * @throws Error when they are not there, or recorded ones themselves
 */
export async function recordExperiment(
  name: string,
  experiment: Experiment,
  { root = EXPERIMENTS_FOLDER, recorded = RECORDED_EXPERIMENTS }: Folders = {},
): Promise<void> {
  const { isDone, file } = await experimentState(name, experiment, root);
  if (!isDone) {
    throw new Error(
      `Expected results of ${name} that were computed here. Compute them: npx parallelsearch experiment ${name}`,
    );
  }
  const files = (await readdir(dirname(file), { withFileTypes: true })).filter((entry) => entry.isFile());
  for (const { name: one } of files) {
    const bytes = await readFile(join(dirname(file), one));
    await writeFileSafely(join(recorded, name, `${one}.gz`), gzipSync(bytes, { level: 9 }));
  }
}

/**
 * Puts recorded results where notebooks look for them, unless results of this configuration are there. Returns whether some are
 * there now.
 */
export async function recallExperiment(
  name: string,
  experiment: Experiment,
  { root = EXPERIMENTS_FOLDER, recorded = RECORDED_EXPERIMENTS }: Folders = {},
): Promise<boolean> {
  const { hash, file, isDone, isRecorded } = await experimentState(name, experiment, root);
  if (isDone || isRecorded) return true;
  const folder = join(recorded, name);
  if (!existsSync(join(folder, `${RESULTS}.gz`))) return false;
  const unpack = async (one: string): Promise<string> =>
    gunzipSync(await readFile(join(folder, `${one}.gz`))).toString();
  if (hashOfResults(JSON.parse(await unpack(RESULTS))) !== hash) return false;
  const names = (await readdir(folder)).map((one) => one.replace(/\.gz$/, ''));
  // The results come last: with them the folder counts as complete.
  for (const one of [...names.filter((other) => other !== RESULTS), RESULTS]) {
    const text = await unpack(one);
    const content = STATES_ITS_SOURCE.has(one) ? marked(JSON.parse(text) as object) : text;
    await writeFileSafely(join(dirname(file), one), content);
  }
  return true;
}

/** JSON of results, or of provenance alone, that says that it was recorded. */
function marked(json: object): string {
  const recorded = 'computed earlier, on the hardware named here, and kept in data/results';
  const content =
    'provenance' in json
      ? { ...json, provenance: { ...(json.provenance as object), recorded } }
      : { ...json, recorded };
  return JSON.stringify(content);
}
