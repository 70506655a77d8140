/** `parallelsearch train`: trains an adapter with a method's preset. */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { dataSetFiles, loadQuestions, type Question } from '../data/flashrag.js';
import { selectSplit, questionType } from '../data/question.js';
import { packagePath, shortPath } from '../io/paths.js';
import { startProgress } from '../io/progress.js';
import { provenanceHere, configHash, contentHash } from '../io/provenance.js';
import { POLL_MS } from '../pages/runs/frame.js';
import { writeRunReport } from '../pages/runs/run-page.js';
import { startWatching } from '../pages/runs/run-server.js';
import { readModelConfig, settingFiles } from '../policy/folders/policy-folders.js';
import { loadModel } from '../policy/folders/model-folder.js';
import { isLarge, type ModelConfig } from '../policy/model/families.js';
import { disposeWeights } from '../policy/model/weights.js';
import { encoderFiles } from '../retrieval/retrievers.js';
import { presetRewards, readsQuestionTypes } from '../rewards/presets.js';
import { checkRewards, type Reward } from '../rewards/reward.js';
import { isCpuBackend } from '../tensor/backend-names.js';
import type { BackendReport } from '../tensor/backend.js';
import { weightFiles } from '../tensor/weight-files.js';
import { decimalText } from '../text/english.js';
import { trainerSettings, type TrainConfig } from '../training/config.js';
import { configDifferences, mergeOptions, type ConfigOverrides } from '../training/overrides.js';
import { trainedMethods } from '../training/methods.js';
import type { Metrics } from '../training/metrics.js';
import { DEFAULT_METHOD, modelPath, resolveTrainConfig } from '../training/models.js';
import { BATCH_ROWS } from '../training/ranks.js';
import { loadRewards, rewardFiles } from '../training/reward-files.js';
import { BEST_ADAPTER, runTraining, type RunDescription } from '../training/run.js';
import {
  choice,
  exitWith,
  CHECKPOINT_NOTICE,
  collect,
  interruptible,
  parseCount,
  parsePort,
  parseWeight,
  log,
} from './common/cli-utils.js';
import { withModelOptions, type ModelSettings } from './common/options.js';
import { requireDistinctFiles } from './common/outputs.js';
import {
  announceBackend,
  openRetriever,
  readConfigFile,
  requireKnownData,
  shareCores,
} from './common/setup.js';
import { trainingMemory, describeStepsLeft, stepsLeft } from './common/training-estimates.js';

const TRAIN_INSTEAD =
  '`export hf models/searcher --model smollm2-parallelsearch` and --model models/searcher, or another Hugging Face folder';

interface TrainSettings extends ModelSettings {
  /** A file, or what it would contain. */
  config?: string | ConfigOverrides;
  method?: string;
  seed?: number;
  lambdaD?: number;
  lambdaS?: number;
  reward?: string[];
  simulator?: string;
  steps?: number;
  /** In milliseconds. */
  retrievalDeadline?: number;
  set?: string[];
  dryRun?: boolean;
  keepSteps?: number[];
  processes?: number;
  out?: string;
  watch?: boolean;
  port?: number;
}

/** Parses a list of numbers such as `3,6,10`. */
const parseSteps = (text: string): number[] =>
  text.split(',').map((part) => parseCount(part.trim()));

/** The preset of method and model, overridden by the file, overridden by flags. */
async function readConfig(
  settings: TrainSettings,
): Promise<{ config: TrainConfig; preset: TrainConfig }> {
  const { method, model, seed, retriever, analyzer, encoder, simulator, promptForm } = settings;
  const { lambdaD, lambdaS, steps, retrievalDeadline, set } = settings;
  const { config = {} } = settings;
  const file = typeof config === 'string' ? await readConfigFile(config) : config;
  const flags = {
    method,
    model,
    seed,
    retriever,
    analyzer,
    encoder,
    retrievalDeadlineMs: retrievalDeadline,
    rollout: { promptForm },
    rewards: { lambdaD, lambdaS },
    ...(simulator && { zerosearch: { simulator } }),
  };
  const resolved = await resolveTrainConfig(file, mergeOptions(flags, set));
  if (steps === undefined) return resolved;
  const { trainer } = resolved.config;
  return resolveTrainConfig(file, mergeOptions({ ...flags, [trainer]: { steps } }, set));
}

/** The configuration's rewards plus those in files; undefined without files. */
async function loadCustomRewards(
  { rewards: { preset, ...overrides } }: TrainConfig,
  files: readonly string[] = [],
): Promise<Reward[] | undefined> {
  if (files.length === 0) return undefined;
  const custom = (await Promise.all(files.map(loadRewards))).flat();
  const rewards = [...presetRewards(preset, overrides), ...custom];
  checkRewards(rewards);
  return rewards;
}

/**
 * The training questions.
 * @throws Error if there are none, or if the rewards need question types and neither
 * types nor graphs give them
 */
async function trainingQuestions(
  data: string | undefined,
  { rewards }: TrainConfig,
): Promise<Question[]> {
  const all = await loadQuestions(data);
  const questions = selectSplit(all, 'train');
  if (questions.length === 0)
    throw new Error(
      `Expected questions of split train, but all ${all.length} questions have other splits. Put some into train.jsonl.`,
    );
  const { preset, ...overrides } = rewards;
  const numUnknown = questions.filter((question) => questionType(question) === undefined).length;
  if (numUnknown === 0 || !readsQuestionTypes(preset, overrides)) return questions;
  if (numUnknown === questions.length)
    throw new Error(
      `Expected questions with a type or a dependency graph, which tell the rewards ${preset} what is parallelizable, but none ` +
        `of ${numUnknown} has either. Add "metadata": {"type": "comparison"} and so on (${shortPath(packagePath('docs', 'data.md'))}), or train with --method search-r1.`,
    );
  log(
    `${numUnknown} of ${questions.length} questions have neither a known type nor a graph, and count as not parallelizable.`,
  );
  return questions;
}

/** Logs the memory that training a large model takes. @throws Error if less is free */
function announceMemory(model: ModelConfig, config: TrainConfig, processes: number): void {
  if (!isLarge(model)) return;
  const needed = (processes * trainingMemory(model, config)) / 1e9;
  const free = process.availableMemory() / 1e9;
  const figure = `${needed.toFixed(1)} GB of memory`;
  if (needed > free)
    throw new Error(
      `Expected ${figure} for this training run, but ${free.toFixed(1)} GB are free. ` +
        `${processes > 1 ? 'Use --processes 1, or lower' : 'Lower'} grpo.questionsPerStep, grpo.maxTokensPerPass, rollout.maxSearchTurns or rollout.maxInformationTokens.`,
    );
  log(`Training takes up to ${figure}; ${free.toFixed(1)} GB are free.`);
}

/**
 * The default number of processes: two if a small model runs on the CPU, where it uses
 * one core only, and a step's rollouts exceed one batch. Otherwise one: a large model
 * uses all cores, and each process holds the model and takes seconds to start.
 */
function defaultProcesses(
  model: ModelConfig,
  config: TrainConfig,
  { name }: BackendReport,
): number {
  const { questionsPerStep, groupSize } = trainerSettings(config);
  const isSplit =
    isCpuBackend(name) && !isLarge(model) && questionsPerStep * groupSize > BATCH_ROWS;
  return isSplit ? Math.min(2, availableParallelism()) : 1;
}

/** Serves the page of a run; returns what stops it once pages have the last step. */
async function watchRun(
  folder: string,
  run: RunDescription,
  port?: number,
): Promise<() => Promise<void>> {
  const server = startWatching();
  try {
    const url = await server.send({ ...run, folder, port });
    log(`Watch it at ${url}`);
  } catch (error) {
    server.stop();
    throw new Error(
      `Expected to serve the page on ${port ? `port ${port}` : 'a free port'}. Choose another with --port.`,
      { cause: error },
    );
  }
  return async () => {
    await sleep(2 * POLL_MS);
    server.stop();
  };
}

/** Every file that the result depends on. */
async function trainingInputs(settings: TrainSettings, config: TrainConfig): Promise<string[]> {
  const modelFolder = modelPath(config.model);
  const { passages, questions } = dataSetFiles(settings.data);
  return [
    ...(await weightFiles(modelFolder)),
    ...settingFiles(modelFolder),
    ...(passages ? [passages] : []),
    ...questions,
    ...(config.encoder === undefined ? [] : encoderFiles(config.encoder)),
    ...(await Promise.all((settings.reward ?? []).map(rewardFiles))).flat(),
  ];
}

function logDifferences(config: TrainConfig, preset: TrainConfig): void {
  const differences = configDifferences(config, preset);
  log(
    differences.length === 0
      ? 'Settings: those of the preset.'
      : 'Settings that differ from the preset:',
  );
  for (const { name, value, preset: usual } of differences)
    log(`  ${name}: ${value} (preset: ${usual})`);
}

/** Metrics shown during training, by the name in the progress line. */
const SHOWN_METRICS = { reward: 'reward', turns: 'turns', decomposed: 'decomposition_ratio' };

function describeStep(metrics: Metrics, alarms: readonly string[]): string {
  const notes = Object.entries(SHOWN_METRICS)
    // A step whose searches all timed out has no metrics.
    .filter(([, metric]) => metric in metrics)
    .map(([name, metric]) => `${name} ${decimalText(metrics[metric], 2)}`);
  return [notes.join(', '), ...alarms].filter(Boolean).join('; ');
}

/** Trains an adapter; the exit code is 130 after Ctrl-C, with a checkpoint. */
export async function runTrain(settings: TrainSettings): Promise<number> {
  const { config, preset } = await readConfig(settings);
  const rewards = await loadCustomRewards(config, settings.reward);
  if (settings.dryRun) {
    process.stdout.write(`${JSON.stringify(config, null, 2)}\n`);
    return 0;
  }
  if (settings.port !== undefined && !settings.watch)
    throw new Error(
      'Expected --watch with --port, which sets the port of its page. Add --watch, or leave out --port.',
    );
  const modelFolder = modelPath(config.model);
  const folder =
    settings.out ?? join('runs', `${basename(config.model)}-${config.method}-seed${config.seed}`);
  requireDistinctFiles([folder], [modelFolder, settings.data ?? []].flat());
  await requireKnownData(modelFolder, settings, TRAIN_INSTEAD);
  const questions = await trainingQuestions(settings.data, config);
  const modelConfig = await readModelConfig(modelFolder);
  shareCores(modelConfig, settings.processes);
  const backend = await announceBackend(settings.backend);
  const { processes = defaultProcesses(modelConfig, config, backend) } = settings;
  announceMemory(modelConfig, config, processes);
  const { retriever } = await openRetriever(settings, { name: config.retriever, options: config });
  const model = await loadModel(modelFolder);
  if (model.note !== undefined) log(model.note);
  const inputsHash = await contentHash(await trainingInputs(settings, config));
  const training = [{ config, folder }];
  const [numLeft] = await stepsLeft(training);
  const hash = configHash(config);
  log(
    `${config.method} from ${config.model}, seed ${config.seed}, config ${hash}, into ${folder}: ` +
      (await describeStepsLeft(training, backend.name)),
  );
  logDifferences(config, preset);
  if (rewards !== undefined)
    log(`Rewards: ${rewards.map(({ name, weight = 1 }) => `${weight} × ${name}`).join(', ')}`);
  const { commit, ...machine } = provenanceHere();
  const made = { seed: config.seed, commit, configHash: hash, backend: backend.detail };
  const run = { config, preset, data: settings.data, provenance: { ...made, ...machine } };
  const stopWatching = settings.watch ? await watchRun(folder, run, settings.port) : undefined;
  return interruptible(
    async (signal) => {
      const { steps } = trainerSettings(config);
      const progress = startProgress('Training', steps, steps - numLeft);
      await runTraining({
        config,
        model,
        modelFolder,
        inputsHash,
        folder,
        description: run,
        rewards,
        keepSteps: settings.keepSteps,
        processes,
        signal,
        questions,
        retriever,
        onStep: (step, metrics, alarms) => progress.update(step + 1, describeStep(metrics, alarms)),
      }).finally(async () => {
        progress.stop();
        disposeWeights(model.weights);
        await stopWatching?.();
      });
      const report = await writeRunReport(folder, run);
      const best = join(folder, BEST_ADAPTER);
      log(
        `The adapter is in ${join(folder, 'adapter')}, ` +
          (existsSync(best) ? `the one with the highest recent mean reward in ${best}, ` : '') +
          `the report in ${report}.`,
      );
    },
    { stopping: CHECKPOINT_NOTICE },
  );
}

export function trainCommand(): Command {
  const command = new Command('train')
    .description(
      'train an adapter with a method’s preset (default: GRPO with the paper’s rewards); resumes if interrupted',
    )
    .option('--config <file>', 'settings (JSON) that override the preset')
    .addOption(choice('--method <name>', `preset (default: ${DEFAULT_METHOD})`, trainedMethods()))
    .option('--seed <n>', 'random seed (default: 1)', parseCount)
    .option(
      '--lambda-d <x>',
      'weight of the decomposition reward (default: the preset’s)',
      parseWeight,
    )
    .option(
      '--lambda-s <x>',
      'weight of the search-count reward (default: the preset’s)',
      parseWeight,
    )
    .option(
      '--reward <file>',
      'your reward, the default export of a .ts, .mjs or .js file; repeatable',
      collect,
    )
    .option('--simulator <folder>', 'adapter that simulates the search engine, for zerosearch')
    .option('--steps <n>', 'training steps (default: the preset’s)', parseCount)
    .option(
      '--retrieval-deadline <ms>',
      'longest time that a step waits for searches that time out; their rollouts are dropped (default: 5000)',
      parseCount,
    )
    .option(
      '--keep-steps <list>',
      'steps, such as 3,6,10, whose adapters are kept as adapter-step-N',
      parseSteps,
    )
    .option(
      '--processes <n>',
      'processes that train together, with the same result for any number (default: 2 for a small model and more than 32 rollouts a step, unless on a GPU; else 1)',
      parseCount,
    )
    .option(
      '--set <path=value>',
      'any setting, such as grpo.learningRate=5e-4; repeatable',
      collect,
    )
    .option('--dry-run', 'print the whole configuration as JSON and stop')
    .option('--out <folder>', 'output folder (default: runs/MODEL-METHOD-seedN)')
    .option('--watch', 'serve curves, guards and the latest rollouts on a local page')
    .option('--port <n>', 'port of that page (default: a free one)', parsePort);
  return withModelOptions(command).action(exitWith(runTrain));
}
