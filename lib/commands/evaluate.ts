import { existsSync } from 'node:fs';
import { appendFile, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { loadDataSet } from '../data/flashrag.js';
import { evaluatePolicy } from '../evaluation/evaluate.js';
import { meanMetrics } from '../evaluation/metrics.js';
import type { Measurement } from '../evaluation/result.js';
import { INITIAL_MODELS, isInitialModel, loadPolicy, modelPath, weightFolders } from '../experiments/runs.js';
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
import type { BackendName } from '../tensor/backend.js';
import { TRAIN_CONFIG_FILE } from '../training/run.js';
import {
  announceBackend,
  backendOption,
  ENCODER_HELP,
  interruptSignal,
  parseCount,
  retrieverHelp,
} from './options.js';

const DEFAULT_METHOD = 'parallelsearch';
const DEFAULT_MODEL = 'instruct';

interface EvaluateSettings {
  method?: string;
  /** A committed initial model, a folder, or the address of a policy elsewhere. */
  model?: string;
  seed: number;
  checkpoints: string;
  adapter?: string;
  retriever?: string;
  encoder?: string;
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
  policy: Policy;
  /** What its results are marked with. */
  run: { method: string; model: string; seed: number };
  rollout: RolloutConfig;
  /** What an adapter was trained with. */
  trained: TrainConfig | null;
}

async function trainConfigOf(adapter: string): Promise<TrainConfig | null> {
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
  if (!adapter && (model === undefined || isInitialModel(model))) {
    const run = { method: method ?? DEFAULT_METHOD, model: model ?? DEFAULT_MODEL, seed } as const;
    const [, trainedAdapter] = weightFolders(run, checkpoints);
    return {
      run,
      policy: await loadPolicy(run, checkpoints),
      rollout: rolloutConfigOf(run.method),
      trained: trainedAdapter === undefined ? null : await trainConfigOf(trainedAdapter),
    };
  }
  if (model !== undefined && isPolicyAddress(model)) {
    const run = { method: method ?? DEFAULT_METHOD, model, seed };
    const rollout = rolloutConfigOf(run.method);
    return { run, policy: await openPolicy(model, { adapter }), rollout, trained: null };
  }
  const trained = adapter ? await trainConfigOf(adapter) : null;
  const base =
    model === undefined ? await baseOf(adapter!, trained, checkpoints) : modelPath(model, checkpoints);
  return {
    run: {
      method: method ?? trained?.method ?? DEFAULT_METHOD,
      model: basename(base),
      seed: trained?.seed ?? seed,
    },
    policy: await openPolicy(base, { adapter }),
    rollout: trained && !method ? trained.rollout : rolloutConfigOf(method ?? DEFAULT_METHOD),
    trained,
  };
}

/** Answers questions with a policy; results go to `--out` or, as a summary, to stdout. */
export async function runEvaluate(settings: EvaluateSettings): Promise<void> {
  await announceBackend(settings.backend);
  const data = await loadDataSet(settings.data);
  const questions = data.questions.filter(({ split }) => split === settings.split).slice(0, settings.limit);
  if (questions.length === 0)
    throw new Error(`Expected questions of split ${settings.split}, but there are none.`);
  const { policy, run, rollout, trained } = await loadSubject(settings);
  const retriever = await createRetriever(
    settings.retriever ?? trained?.retriever ?? DEFAULT_RETRIEVER,
    data.passages,
    { titleWeight: trained?.titleWeight, encoder: settings.encoder ?? trained?.encoder },
  );
  const signal = interruptSignal('Stopping.');
  const progress = startProgress('Evaluating', questions.length);
  const { trajectories } = settings;
  if (trajectories) await rm(trajectories, { force: true });
  let written = Promise.resolve();
  const measurements = await evaluatePolicy(policy, retriever, questions, {
    rollout: { ...rollout, ...(settings.topK ? { topK: settings.topK } : {}) },
    batchSize: settings.batchSize,
    signal,
    onBatch: (done, batch) => {
      progress.update(done);
      const lines = batch.map((trajectory) => `${JSON.stringify({ ...run, ...trajectory })}\n`).join('');
      if (trajectories) written = written.then(() => appendFile(trajectories, lines));
    },
  });
  await written;
  progress.stop();
  policy.dispose?.();
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
    .description('answer questions with a policy and measure every answer')
    .addOption(
      new Option(
        '--method <name>',
        `who answers, and under which prompt; an adapter’s own by default, else ${DEFAULT_METHOD}`,
      ).choices(METHODS.names()),
    )
    .option(
      '--model <name>',
      `initial model: ${INITIAL_MODELS.join(' or ')}, or a folder in Hugging Face format; an adapter’s own by default, else ${DEFAULT_MODEL}`,
    )
    .option('--seed <n>', 'seed it was trained with', parseCount, 1)
    .option('--checkpoints <folder>', 'folder of models and adapters', CHECKPOINTS)
    .option('--adapter <folder>', 'an adapter (PEFT format) instead of the committed one; see `train`')
    .option(
      '--retriever <name>',
      `${retrieverHelp()}; an adapter’s own by default, else ${DEFAULT_RETRIEVER}`,
    )
    .option('--encoder <folder>', ENCODER_HELP)
    .option('--split <name>', 'train, dev or test', 'test')
    .option('--limit <n>', 'only the first n questions', parseCount)
    .option('--top-k <n>', 'passages per query', parseCount)
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
