/**
 * `parallelsearch sweep CONFIG.json`: trains each combination of settings and compares
 * them.
 */
import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Command } from 'commander';
import { cross } from 'd3-array';
import { z } from 'zod';
import { readJson } from '../io/files.js';
import { parseAs, parseUniqueJson } from '../io/json.js';
import { CHECKPOINTS } from '../io/paths.js';
import type { RunSource } from '../report/compared-runs.js';
import type { BackendName } from '../tensor/backend.js';
import type { TrainConfig } from '../training/config.js';
import { nestSetting } from '../training/overrides.js';
import { resolveTrainConfig } from '../training/models.js';
import { checkpointFolder } from '../training/run.js';
import { exitWith, collect, log } from './common/cli-utils.js';
import { backendOption, limitOption } from './common/options.js';
import { describeStepsLeft, stepsLeft } from './common/training-estimates.js';
import { runCompare } from './compare.js';
import { selectQuestions, runEvaluate } from './evaluate/command.js';
import { runTrain } from './train.js';

/** Most bytes that file systems allow in a name. */
const MAX_NAME_BYTES = 255;

interface SweepSettings {
  out?: string;
  data?: string;
  reward?: string[];
  evaluate?: string;
  limit?: number;
  backend: BackendName | 'auto';
  force?: boolean;
}

interface Point {
  /** Its settings from the grid, written as in Hydra: `rewards.lambdaD=0.5,seed=2`. */
  name: string;
  config: TrainConfig;
}

const sweepSchema = z.looseObject({ sweep: z.record(z.string(), z.array(z.unknown()).min(1)) });

/**
 * Expands a grid into training runs. `sweep` in a training configuration has lists of
 * values by dotted name, such as `"rewards.lambdaD": [0.15, 0.5]`; every combination is a
 * run.
 * @throws Error naming what is wrong in the file, or in the configuration of a
 * combination
 */
export async function expandGrid(json: unknown): Promise<Point[]> {
  const expected =
    'a training configuration with lists under "sweep", such as "sweep": {"seed": [1, 2]}';
  const { sweep, ...base } = parseAs(sweepSchema, json, expected);
  const combinations = Object.entries(sweep).reduce<[string, unknown][][]>(
    (before, [name, values]) =>
      cross(before, values, (chosen, value) => [...chosen, [name, value]]),
    [[]],
  );
  const text = (field: string, value: unknown): string => {
    if (typeof value !== 'string') return JSON.stringify(value);
    const names = sweep[field].map((other) => basename(String(other)));
    return names.filter((name) => name === basename(value)).length > 1 ? value : basename(value);
  };
  const names = combinations.map((chosen) =>
    chosen
      .map(([field, value]) => `${field}=${text(field, value)}`)
      .join(',')
      .replaceAll(/[^\p{L}\p{N}_.,=-]+/gu, '_'),
  );
  const long = names.find((name) => Buffer.byteLength(name) > MAX_NAME_BYTES);
  if (long !== undefined)
    throw new Error(
      `Expected names of at most ${MAX_NAME_BYTES} bytes for the folders of combinations, but one is ${Buffer.byteLength(long)} bytes long: ${long.slice(0, 60)}… Give long values in files of their own, or sweep fewer settings.`,
    );
  const repeated = names.find((name, i) => names.indexOf(name) < i);
  if (repeated !== undefined)
    throw new Error(
      `Expected a folder per combination, but two are named ${repeated}. Values under "sweep" must differ, and not only in special characters.`,
    );
  const points = await Promise.all(
    combinations.map(async (chosen, i) => {
      const overrides = chosen.map(([field, value]) => nestSetting(field, value));
      const { config } = await resolveTrainConfig(base, ...overrides);
      return { name: names[i], config };
    }),
  );
  const configs = points.map(({ config }) => JSON.stringify(config));
  const same = configs.findIndex((config, i) => configs.indexOf(config) < i);
  if (same >= 0)
    throw new Error(
      `Expected a different run for each combination, but ${names[configs.indexOf(configs[same])]} and ${names[same]} are the same. A setting may be named only once under "sweep".`,
    );
  return points;
}

/** Removes answers of an earlier adapter: a run without a checkpoint starts anew. */
async function removeAnswers(folder: string): Promise<void> {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  for (const name of names.filter((one) => /^answers-.*\.jsonl$/.test(one)))
    await rm(join(folder, name));
}

/** Trains unfinished runs, then writes the page. The exit code is 130 after Ctrl-C. */
export async function runSweep(file: string, settings: SweepSettings): Promise<number> {
  const { data, reward, backend, evaluate: split, limit, force } = settings;
  const out = settings.out ?? join('runs', basename(file, '.json'));
  const points = await expandGrid(await readJson(file, parseUniqueJson));
  const folders = points.map(({ name }) => join(out, name));
  // Fail now rather than after the first run.
  if (split !== undefined) await selectQuestions({ data, split, limit });
  const trainings = points.map(({ config }, i) => ({ config, folder: folders[i] }));
  const numDone = (await stepsLeft(trainings)).filter((left) => left === 0).length;
  log(
    `${points.length} training runs, ${numDone} of them finished; ${await describeStepsLeft(trainings)}`,
  );
  const sources: RunSource[] = [];
  for (const [i, point] of points.entries()) {
    const [{ name, config }, folder] = [point, folders[i]];
    sources.push({ name, path: folder });
    const rest = i > 0 ? `; in all ${await describeStepsLeft(trainings)}` : '';
    log(`\n${i + 1} of ${points.length}: ${name}${rest}`);
    if (!existsSync(checkpointFolder(folder))) await removeAnswers(folder);
    // A finished run is not repeated; it is rejected if data or rewards have changed.
    const trained = await runTrain({ config, out: folder, data, reward, backend, force });
    if (trained !== 0) {
      const [left] = await stepsLeft([trainings[i]]);
      if (left === 0) log('Stopped. The same command continues with the next training.');
      return trained;
    }
    if (split === undefined) continue;
    const answers = join(folder, `answers-${split}${limit ? `-sample-${limit}` : ''}.jsonl`);
    sources.push({ name, path: answers });
    if (existsSync(answers)) continue;
    const asked = { data, backend, force, split, limit, out: answers };
    const adapter = { adapter: join(folder, 'adapter'), seed: 1, checkpoints: CHECKPOINTS };
    const evaluated = await runEvaluate({ ...asked, ...adapter });
    if (evaluated !== 0) return evaluated;
  }
  await runCompare(sources, { out: join(out, 'compare.html'), data });
  return 0;
}

export function sweepCommand(): Command {
  return new Command('sweep')
    .description(
      'train every combination of a grid of settings and compare them on one page; resumes if interrupted',
    )
    .argument(
      '<config>',
      'a configuration for `train` (JSON) with lists under "sweep", such as {"rewards.lambdaD": [0.15, 0.5], "seed": [1, 2]}',
    )
    .option(
      '-o, --out <folder>',
      'folder for the training runs and compare.html (default: runs/CONFIG)',
    )
    .option(
      '--data <folder>',
      'questions and passages in FlashRAG layout (default: the small world)',
    )
    .option('--reward <file>', 'your reward, as for `train`; repeatable', collect)
    .option('--evaluate <split>', 'answer the questions of a split, such as dev, with each adapter')
    .addOption(limitOption())
    .addOption(backendOption())
    .option('--force', 'accept a model that was not trained for the data')
    .action(exitWith(runSweep));
}
