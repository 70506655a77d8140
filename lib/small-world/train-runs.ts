/**
 * Trains the runs of reinforcement, two side by side: `node dist/small-world/train-runs.js [main|fewer-turns|one-passage|lambdas] [folder]`. Each keeps its adapter every few steps; the
 * one with the most reward on dev questions is published beside the initial models, with its metrics and the dev curve. Goes on where it was stopped.
 */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { greatest, mean, range } from 'd3-array';
import { loadDataSet, type DataSet, type Question } from '../data/flashrag.js';
import { batchesOf } from '../evaluation/evaluate.js';
import { lambdaSettings } from '../experiments/lambda-ablation/settings.js';
import { readJson, writeFileSafely } from '../io/files.js';
import { contentHash } from '../io/hash.js';
import { CHECKPOINTS, packagePath, SMALL_WORLD } from '../io/paths.js';
import { sideBySide } from '../io/side-by-side.js';
import type { TrainConfig } from '../methods/config.js';
import { loadModel } from '../policy/model-folder.js';
import { loadLocalPolicy } from '../policy/policies.js';
import { createRandom } from '../random.js';
import { createBm25Retriever, type Bm25Retriever } from '../retrieval/bm25.js';
import { rewardsOf } from '../rewards/presets.js';
import { scoreRollout } from '../rewards/reward.js';
import { rolloutFromTrajectory } from '../rewards/rollout.js';
import { rollOut } from '../rollout/rollout.js';
import { useBackend } from '../tensor/backend.js';
import { keptAdapter, runTraining, TRAIN_CONFIG_FILE } from '../training/run.js';
import { trainInProcess } from './training-process.js';
import {
  configOf,
  fewerTurnsRuns,
  lambdaRuns,
  mainRuns,
  onePassageRuns,
  smallRunName,
  type SmallRun,
} from './runs.js';

const NUM_PROCESSES = 2;
/** Steps between two adapters that are tried on dev questions. */
const KEEP_EVERY = 25;
/** Dev questions on which they are tried. */
const NUM_DEV = 320;
const BATCH_SIZE = 48;

/** Runs by the name of what they are for. */
const RUNS: Readonly<Record<string, () => SmallRun[]>> = {
  main: mainRuns,
  'fewer-turns': fewerTurnsRuns,
  'one-passage': onePassageRuns,
  lambdas: () => lambdaRuns(lambdaSettings()),
};

/** A point of the dev curve: what the adapter after so many steps gets, greedily. */
export interface DevPoint {
  step: number;
  reward: number;
  outcome: number;
  /** Share of the parallelizable questions that are decomposed. */
  decomposition: number;
  modelCalls: number;
}

async function tryAdapter(
  { config, model, adapter, step }: { config: TrainConfig; model: string; adapter: string; step: number },
  questions: readonly Question[],
  retriever: Bm25Retriever,
): Promise<DevPoint> {
  const policy = await loadLocalPolicy(model, { adapter });
  const { preset, ...overrides } = config.rewards;
  const rewards = rewardsOf(preset, overrides);
  const points: (Omit<DevPoint, 'step' | 'decomposition'> & { decomposed: number | undefined })[] = [];
  for (const batch of batchesOf(questions, BATCH_SIZE)) {
    const some = batch.map((i) => questions[i]);
    const randoms = some.map(({ id }) => createRandom(id));
    const { trajectories } = await rollOut(policy, retriever, some, {
      ...config.rollout,
      temperature: 0,
      randoms,
    });
    policy.release();
    trajectories.forEach((trajectory, i) => {
      const rollout = rolloutFromTrajectory(trajectory, some[i]);
      const { components } = scoreRollout(rewards, rollout);
      const isDecomposed = rollout.searchTurns.some((queries) => queries.length > 1);
      points.push({
        ...{ reward: components.total, outcome: components.outcome, modelCalls: trajectory.modelCalls },
        decomposed: rollout.shape === 'parallelizable' ? Number(isDecomposed) : undefined,
      });
    });
  }
  policy.dispose();
  return {
    step,
    reward: mean(points, ({ reward }) => reward)!,
    outcome: mean(points, ({ outcome }) => outcome)!,
    decomposition: mean(points, ({ decomposed }) => decomposed) ?? 0,
    modelCalls: mean(points, ({ modelCalls }) => modelCalls)!,
  };
}

/** Four digits are enough to draw a curve. */
const rounded = (_: string, value: unknown): unknown =>
  typeof value === 'number' ? Number(value.toPrecision(4)) : value;

/** Puts the adapter with the most reward on dev questions into `to`, with its configuration, metrics and dev curve. */
export async function publishBest(
  from: string,
  to: string,
  curve: readonly DevPoint[],
  base: string,
): Promise<void> {
  const best = greatest(curve, (a, b) => a.reward - b.reward)!;
  const aside = `${to}.partial`;
  await mkdir(aside, { recursive: true });
  const adapter = join(from, keptAdapter(best.step));
  await copyFile(join(adapter, 'adapter_model.safetensors'), join(aside, 'adapter_model.safetensors'));
  await copyFile(join(adapter, TRAIN_CONFIG_FILE), join(aside, TRAIN_CONFIG_FILE));
  const peft = {
    ...((await readJson(join(adapter, 'adapter_config.json'))) as object),
    base_model_name_or_path: `../${base}`,
  };
  await writeFileSafely(join(aside, 'adapter_config.json'), `${JSON.stringify(peft, null, 2)}\n`);
  const metrics = (await readFile(join(from, 'metrics.jsonl'), 'utf8')).trimEnd().split('\n');
  const lines = (rows: readonly unknown[]): string =>
    rows.map((row) => `${JSON.stringify(row, rounded)}\n`).join('');
  await writeFileSafely(
    join(aside, 'metrics.jsonl'),
    lines(metrics.map((line) => JSON.parse(line) as unknown)),
  );
  await writeFileSafely(
    join(aside, 'dev.jsonl'),
    lines(curve.map((point) => ({ ...point, chosen: point === best }))),
  );
  await rm(to, { recursive: true, force: true });
  await rename(aside, to);
}

async function trainOne(run: SmallRun, models: string, world: DataSet): Promise<void> {
  const name = smallRunName(run);
  const config = configOf(run);
  const modelFolder = join(models, config.model);
  const inputsHash = await contentHash([
    join(modelFolder, 'model.safetensors'),
    join(SMALL_WORLD, 'passages.jsonl'),
  ]);
  const folder = packagePath('runs', 'reinforcement', inputsHash, name);
  const retriever = createBm25Retriever(world.passages, { titleWeight: config.titleWeight });
  const keepSteps = range(KEEP_EVERY, config.grpo.steps + 1, KEEP_EVERY);
  const model = await loadModel(modelFolder);
  await runTraining({
    ...{ config, model, modelFolder, retriever, inputsHash, folder, keepSteps },
    questions: world.questions.filter(({ split }) => split === 'train'),
    onStep: (step, metrics) => {
      if (step % 20 > 0) return;
      const outcome = metrics['rewards/outcome'].toFixed(2);
      const share = metrics['decomposition_ratio/parallelizable'].toFixed(2);
      console.error(`${name}: step ${step} of ${config.grpo.steps}, outcome ${outcome}, decomposes ${share}`);
    },
  });
  const dev = createRandom('dev')
    .shuffle(world.questions.filter(({ split }) => split === 'dev'))
    .slice(0, NUM_DEV);
  const curve: DevPoint[] = [];
  for (const step of keepSteps)
    curve.push(
      await tryAdapter(
        { config, model: modelFolder, adapter: join(folder, keptAdapter(step)), step },
        dev,
        retriever,
      ),
    );
  await publishBest(folder, join(models, name), curve, config.model);
  console.error(`${name}: ${curve.map(({ outcome }) => outcome.toFixed(3)).join(' ')} right on dev`);
}

async function main([what = 'main', models = CHECKPOINTS, own]: string[]): Promise<void> {
  if (!Object.hasOwn(RUNS, what))
    throw new RangeError(`Expected one of ${Object.keys(RUNS).join(', ')}, but got ${what}.`);
  const open = RUNS[what]().filter((run) => !existsSync(join(models, smallRunName(run))));
  if (own === undefined) {
    await sideBySide(open, NUM_PROCESSES, (run) =>
      trainInProcess(import.meta.url, [what, models, smallRunName(run)]),
    );
    return;
  }
  await useBackend('auto');
  const run = open.find((one) => smallRunName(one) === own);
  if (run) await trainOne(run, models, await loadDataSet(SMALL_WORLD));
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href)
  await main(process.argv.slice(2));
