/** `parallelsearch export trackio RUN...`: metrics and rollouts for trackio's pages. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { writeTrackio, type TrackedRun } from '../interop/trackio.js';
import { parseTokens } from '../interop/verifiers.js';
import { readJsonLines } from '../io/files.js';
import { shortNames } from '../pages/compare/runs.js';
import { readDescription } from '../pages/run/folder.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { log, shellWord } from './cli-utils.js';
import { readTimedSteps } from './tensorboard.js';

/** All recorded rollouts by step. @throws Error naming an invalid line */
async function readRollouts(folder: string): Promise<Map<number, Trajectory[]>> {
  const rollouts = new Map<number, Trajectory[]>();
  const file = path.join(folder, 'trajectories.jsonl');
  if (!existsSync(file)) return rollouts;
  for await (const line of readJsonLines(file, parseTokens, 'recorded trajectories')) {
    const { step = 0 } = line;
    rollouts.set(step, [...(rollouts.get(step) ?? []), line]);
  }
  return rollouts;
}

interface TrackioSettings {
  out: string;
  project: string;
}

export async function runTrackio(
  folders: readonly string[],
  { out, project }: TrackioSettings,
): Promise<void> {
  const names = shortNames(folders);
  const runs: TrackedRun[] = [];
  for (const [i, folder] of folders.entries())
    runs.push({
      name: names[i],
      config: (await readDescription(folder))?.config ?? {},
      steps: await readTimedSteps(folder),
      rollouts: await readRollouts(folder),
    });
  const { numSteps, numTraces } = await writeTrackio(out, runs, { project });
  log(`${out}: ${numSteps} steps and ${numTraces} rollouts of ${names.join(', ')}. To see them:`);
  const environment = `TRACKIO_DIR=${shellWord(path.resolve(out))}`;
  log(
    `  ${environment} python3 -c "from trackio.sqlite_storage import SQLiteStorage; SQLiteStorage.import_from_parquet()"`,
  );
  log(`  ${environment} trackio show --project ${project}`);
}

/** The `trackio` command below `export`. */
export const trackioCommand = (): Command =>
  new Command('trackio')
    .description('write training metrics and rollouts as trackio’s tables')
    .argument('<runs...>', 'output folders of `train`')
    .requiredOption('-o, --out <folder>', 'folder for the Parquet files, trackio’s TRACKIO_DIR')
    .option('--project <name>', 'trackio’s project', 'parallelsearch')
    .action(runTrackio);
