import { existsSync } from 'node:fs';
import { appendFile, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { group, mean, sort } from 'd3-array';
import { Command, Option } from 'commander';
import { loadDataSet } from '../data/flashrag.js';
import { evaluatePolicy, type EvaluateOptions } from '../evaluation/evaluate.js';
import { meanMetrics } from '../evaluation/metrics.js';
import type { Measurement } from '../evaluation/result.js';
import { loadPolicy, modelPath, parseModelName, weightFolders } from '../experiments/runs.js';
import { evaluatedSplit } from '../experiments/world.js';
import { readJson, writeFileSafely } from '../io/files.js';
import { CHECKPOINTS } from '../io/paths.js';
import { startProgress } from '../io/progress.js';
import { parseTrainConfig, type TrainConfig } from '../methods/config.js';
import { METHODS, rolloutConfigOf } from '../methods/index.js';
import { readPeftConfig, requireFolders } from '../policy/model-folder.js';
import { isPolicyAddress, openPolicy } from '../policy/policies.js';
import type { Policy } from '../policy/policy.js';
import { createRetriever, DEFAULT_RETRIEVER } from '../retrieval/retrievers.js';
import type { RolloutConfig } from '../rollout/options.js';
import { TRAIN_CONFIG_FILE } from '../training/run.js';
import { interruptible, parseCount } from './frame.js';
import {
  announceBackend,
  DEFAULT_METHOD,
  DEFAULT_MODEL,
  withPolicyOptions,
  type PolicySettings,
} from './options.js';

interface EvaluateSettings extends PolicySettings {
  method?: string;
  seed: number;
  checkpoints: string;
  adapter?: string;
  split?: string;
  limit?: number;
  topK?: number;
  batchSize: number;
  out?: string;
  trajectories?: string;
}

/** Who answers, and how it is asked. */
interface Subject {
  policy: Policy;
  /** What its results are marked with. */
  run: { method: string; model: string; seed: number };
  rollout: RolloutConfig;
  /** What an adapter was trained with. */
  trained: TrainConfig | null;
}

async function trainConfigOf(adapter?: string): Promise<TrainConfig | null> {
  if (adapter === undefined) return null;
  const file = join(adapter, TRAIN_CONFIG_FILE);
  return existsSync(file) ? parseTrainConfig(await readJson(file)) : null;
}

/** The folder of the model that an adapter was trained from: the one that it names, else that of its configuration. */
async function baseOf(adapter: string, trained: TrainConfig | null, checkpoints: string): Promise<string> {
  requireFolders([adapter]);
  const { base } = await readPeftConfig(adapter);
  const folder = base === undefined ? undefined : resolve(adapter, base);
  return folder !== undefined && existsSync(folder)
    ? folder
    : modelPath(trained?.model ?? DEFAULT_MODEL, checkpoints);
}

/**
 * A committed run, or a model and an adapter of the user's, which is asked as it was trained unless a method is named.
 * @throws Error for an unknown model, or a folder that is missing
 */
async function loadSubject(settings: EvaluateSettings): Promise<Subject> {
  const { method, model, seed, checkpoints, adapter } = settings;
  const run = { method: method ?? DEFAULT_METHOD, model: model ?? DEFAULT_MODEL, seed };
  const rollout = rolloutConfigOf(run.method);
  const initial = parseModelName(run.model);
  if (!adapter && initial) {
    const weights = { ...run, ...initial };
    const trained = await trainConfigOf(weightFolders(weights, checkpoints)[1]);
    return { run, policy: await loadPolicy(weights, checkpoints), rollout, trained };
  }
  if (isPolicyAddress(run.model))
    return { run, policy: await openPolicy(run.model, { adapter }), rollout, trained: null };
  const trained = await trainConfigOf(adapter);
  const base =
    model === undefined ? await baseOf(adapter!, trained, checkpoints) : modelPath(model, checkpoints);
  const asked = method === undefined && trained ? trained : { method: run.method, rollout };
  return {
    run: { method: asked.method, model: basename(base), seed: trained?.seed ?? seed },
    ...{ policy: await openPolicy(base, { adapter }), rollout: asked.rollout, trained },
  };
}

/** A line of JSON each. */
const linesOf = (items: readonly object[]): string =>
  items.map((item) => `${JSON.stringify(item)}\n`).join('');

/** Answers questions with a policy; results go to `--out`, a summary to stdout. The exit code is 130 after Ctrl-C. */
export async function runEvaluate(settings: EvaluateSettings): Promise<number> {
  await announceBackend(settings.backend);
  const data = await loadDataSet(settings.data);
  const wanted = settings.split ?? evaluatedSplit(data.questions);
  const questions = data.questions.filter(({ split }) => split === wanted).slice(0, settings.limit);
  if (questions.length === 0) throw new Error(`Expected questions of split ${wanted}, but there are none.`);
  const { policy, run, rollout, trained } = await loadSubject(settings);
  const { topK = rollout.topK, batchSize, trajectories, out } = settings;
  const retriever = await createRetriever(
    settings.retriever ?? trained?.retriever ?? DEFAULT_RETRIEVER,
    data.passages,
    { titleWeight: trained?.titleWeight, encoder: settings.encoder ?? trained?.encoder },
  );
  if (trajectories) await rm(trajectories, { force: true });
  const work = async (signal: AbortSignal): Promise<void> => {
    const progress = startProgress('Evaluating', questions.length);
    let written = Promise.resolve();
    const onBatch: EvaluateOptions['onBatch'] = (done, batch) => {
      progress.update(done);
      const lines = linesOf(batch.map((trajectory) => ({ ...run, ...trajectory })));
      if (trajectories) written = written.then(() => appendFile(trajectories, lines));
    };
    const options = { rollout: { ...rollout, topK }, batchSize, signal, onBatch };
    const measurements = await evaluatePolicy(policy, retriever, questions, options);
    await written;
    progress.stop();
    policy.dispose?.();
    const results = measurements.map((measurement) => ({ ...run, ...measurement }));
    if (out) await writeFileSafely(out, linesOf(results));
    process.stdout.write(summaryOf(results));
  };
  return interruptible('Stopping.', work, 'Stopped.');
}

/** Means of all and by subset, a line each. */
function summaryOf(results: readonly Measurement[]): string {
  const subsets = sort(
    group(results, ({ subset }) => subset),
    ([subset]) => subset,
  );
  return [['all', results] as const, ...subsets]
    .map(([name, some]) => {
      const metrics = Object.entries(meanMetrics(some)).map(
        ([metric, value]) => `${metric} ${value.toFixed(3)}  `,
      );
      const valid = mean(some, ({ formatOk }) => Number(formatOk))!.toFixed(3);
      return `${name.padEnd(16)} n ${String(some.length).padStart(5)}  ${metrics.join('')}valid ${valid}\n`;
    })
    .join('');
}

/** The `evaluate` command. */
export function evaluateCommand(): Command {
  const orElse = (byDefault: string): string => `; an adapter’s own by default, else ${byDefault}`;
  const command = new Command('evaluate')
    .description('answer questions with a policy and measure every answer')
    .addOption(
      new Option('--method <name>', `who answers, and under which prompt${orElse(DEFAULT_METHOD)}`).choices(
        METHODS.names(),
      ),
    )
    .option('--seed <n>', 'seed it was trained with', parseCount, 1)
    .option('--checkpoints <folder>', 'folder of models and adapters', CHECKPOINTS)
    .option('--adapter <folder>', 'an adapter (PEFT format) instead of the committed one; see `train`')
    .option('--split <name>', 'train, dev or test; by default test where there is one')
    .option('--limit <n>', 'only the first n questions', parseCount)
    .option('--top-k <n>', 'passages per query', parseCount)
    .option('--batch-size <n>', 'questions answered side by side', parseCount, 128)
    .option('--out <file>', 'one line a question (JSONL)')
    .option('--trajectories <file>', 'every trajectory (JSONL)');
  return withPolicyOptions(command, orElse).action(async (settings: EvaluateSettings) => {
    process.exitCode = await runEvaluate(settings);
  });
}
