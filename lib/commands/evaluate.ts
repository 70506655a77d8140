import { existsSync } from 'node:fs';
import { appendFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Command, Option } from 'commander';
import { parseTrainConfig } from '../methods/config.js';
import { METHODS, rolloutConfigOf } from '../methods/index.js';
import { INITIAL_MODELS, isInitialModel, type InitialModelName } from '../experiments/runs.js';
import type { RolloutConfig } from '../rollout/options.js';
import { evaluatePolicy } from '../evaluation/evaluate.js';
import { meanMetrics } from '../evaluation/metrics.js';
import type { Measurement } from '../evaluation/result.js';
import { loadPolicy, loadPolicyFiles, modelFolder } from '../experiments/runs.js';
import { loadWorld } from '../experiments/world.js';
import { CHECKPOINTS } from '../io/paths.js';
import type { LocalPolicy } from '../policy/local-policy.js';
import { readJson, writeFileSafely } from '../io/files.js';
import { startProgress } from '../io/progress.js';
import type { BackendName } from '../tensor/backend.js';
import { TRAIN_CONFIG_FILE } from '../training/run-grpo.js';
import { announceBackend, backendOption, interruptSignal, parseCount } from './options.js';

const DEFAULT_METHOD = 'parallelsearch';
const DEFAULT_MODEL: InitialModelName = 'instruct';

interface EvaluateSettings {
  method?: string;
  /** A committed initial model, or a folder. */
  model: string;
  seed: number;
  checkpoints: string;
  adapter?: string;
  split: string;
  limit?: number;
  topK?: number;
  batchSize: number;
  data?: string;
  out?: string;
  trajectories?: string;
  backend: BackendName | 'auto';
}

/** Who answers, and how it is asked. */
interface Subject {
  policy: LocalPolicy;
  /** What its results are marked with. */
  run: { method: string; model: string; seed: number };
  rollout: RolloutConfig;
}

/** A committed run, or a model and an adapter of the user's, which is asked as it was trained unless a method is named. */
async function loadSubject(settings: EvaluateSettings): Promise<Subject> {
  const { method, model, seed, checkpoints, adapter } = settings;
  if (!adapter && isInitialModel(model)) {
    const run = { method: method ?? DEFAULT_METHOD, model, seed };
    return { run, policy: await loadPolicy(run, checkpoints), rollout: rolloutConfigOf(run.method) };
  }
  const configFile = adapter && join(adapter, TRAIN_CONFIG_FILE);
  const config = configFile && existsSync(configFile) ? parseTrainConfig(await readJson(configFile)) : null;
  const named = settings.model === DEFAULT_MODEL ? (config?.model ?? model) : model;
  const base = isInitialModel(named) ? modelFolder(named, checkpoints) : named;
  return {
    run: {
      method: method ?? config?.method ?? DEFAULT_METHOD,
      model: basename(named),
      seed: config?.seed ?? seed,
    },
    policy: await loadPolicyFiles(adapter ?? base, base, adapter),
    rollout: config && !method ? config.rollout : rolloutConfigOf(method ?? DEFAULT_METHOD),
  };
}

/** Answers questions with a trained policy; results go to `--out` or, as a summary, to stdout. */
export async function runEvaluate(settings: EvaluateSettings): Promise<void> {
  await announceBackend(settings.backend);
  const world = await loadWorld({ folder: settings.data });
  const questions = world.questions.filter(({ split }) => split === settings.split).slice(0, settings.limit);
  if (questions.length === 0)
    throw new Error(`Expected questions of split ${settings.split}, but there are none.`);
  const { policy, run, rollout } = await loadSubject(settings);
  const signal = interruptSignal('Stopping.');
  const progress = startProgress('Evaluating', questions.length);
  const { trajectories } = settings;
  if (trajectories) await rm(trajectories, { force: true });
  let written = Promise.resolve();
  const measurements = await evaluatePolicy(policy, world.retriever, questions, {
    rollout: { ...rollout, ...(settings.topK ? { topK: settings.topK } : {}) },
    batchSize: settings.batchSize,
    clearCache: () => policy.clearCache(),
    signal,
    onBatch: (done, batch) => {
      progress.update(done);
      const lines = batch.map((trajectory) => `${JSON.stringify({ ...run, ...trajectory })}\n`).join('');
      if (trajectories) written = written.then(() => appendFile(trajectories, lines));
    },
  });
  await written;
  progress.stop();
  const results = measurements.map((measurement) => ({ ...run, ...measurement }));
  if (settings.out)
    await writeFileSafely(settings.out, results.map((r) => `${JSON.stringify(r)}\n`).join(''));
  process.stdout.write(summaryOf(results));
}

/** Means by subset, a line each. */
function summaryOf(results: readonly Measurement[]): string {
  const line = (name: string, some: readonly Measurement[]): string => {
    const metrics = Object.entries(meanMetrics(some)).map(
      ([metric, value]) => `${metric} ${value.toFixed(3)}`,
    );
    const valid = some.filter(({ formatOk }) => formatOk).length / some.length;
    return `${name.padEnd(16)} n ${String(some.length).padStart(5)}  ${metrics.join('  ')}  valid ${valid.toFixed(3)}\n`;
  };
  const subsets = [...new Set(results.map(({ subset }) => subset))].sort();
  return [
    line('all', results),
    ...subsets.map((s) =>
      line(
        s,
        results.filter(({ subset }) => subset === s),
      ),
    ),
  ].join('');
}

/** The `evaluate` command. */
export function evaluateCommand(): Command {
  return new Command('evaluate')
    .description('answer questions with a trained policy and measure every answer')
    .addOption(
      new Option(
        '--method <name>',
        `who answers, and under which prompt; an adapter’s own by default, else ${DEFAULT_METHOD}`,
      ).choices(METHODS.names()),
    )
    .option(
      '--model <name>',
      `initial model: ${INITIAL_MODELS.join(' or ')}, or a folder in Hugging Face format; an adapter’s own by default`,
      DEFAULT_MODEL,
    )
    .option('--seed <n>', 'seed it was trained with', parseCount, 1)
    .option('--checkpoints <folder>', 'folder of models and adapters', CHECKPOINTS)
    .option('--adapter <folder>', 'an adapter (PEFT format) instead of the committed one; see `train`')
    .option('--split <name>', 'train, dev or test', 'test')
    .option('--limit <n>', 'only the first n questions', parseCount)
    .option('--top-k <n>', 'passages a sub-query', parseCount)
    .option('--batch-size <n>', 'questions answered side by side', parseCount, 128)
    .option(
      '--data <folder>',
      'a folder with passages.jsonl and questions.jsonl (FlashRAG layout with graphs)',
    )
    .option('--out <file>', 'one line a question (JSONL)')
    .option('--trajectories <file>', 'every trajectory (JSONL)')
    .addOption(backendOption())
    .action(runEvaluate);
}
