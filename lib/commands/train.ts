import { join } from 'node:path';
import { Command, Option } from 'commander';
import {
  configHash,
  parseTrainConfig,
  START_NAMES,
  trainingPreset,
  type Lambdas,
  type StartName,
  type TrainConfig,
} from '../config.js';
import { contentHash, loadWorld, MINI_WIKI, startFolder } from '../experiments/world.js';
import { loadModel, readJson } from '../policy/model-folder.js';
import { disposeWeights } from '../policy/weights.js';
import { startProgress, type Progress } from '../progress.js';
import type { BackendName } from '../tensor/backend.js';
import { runGrpo } from '../training/run-grpo.js';
import { announceBackend, backendOption, interruptSignal, parseCount, parseWeight } from './options.js';

interface TrainSettings {
  config?: string;
  method: 'search-r1' | 'parallelsearch';
  start: StartName;
  seed: number;
  lambdaD?: number;
  lambdaS?: number;
  steps?: number;
  model?: string;
  data?: string;
  out?: string;
  backend: BackendName | 'auto';
}

/** The lambdas that were given; the preset has the others. */
const lambdasOf = ({ lambdaD, lambdaS }: TrainSettings): Partial<Lambdas> => ({
  ...(lambdaD === undefined ? {} : { lambdaD }),
  ...(lambdaS === undefined ? {} : { lambdaS }),
});

async function readConfig(settings: TrainSettings): Promise<TrainConfig> {
  const config = settings.config
    ? parseTrainConfig(await readJson(settings.config))
    : trainingPreset(settings.method, settings.start, settings.seed, lambdasOf(settings));
  return settings.steps ? { ...config, grpo: { ...config.grpo, steps: settings.steps } } : config;
}

/** Trains an adapter; the exit code is 130 after Ctrl-C, with a checkpoint to go on from. */
export async function runTrain(settings: TrainSettings): Promise<number> {
  const config = await readConfig(settings);
  const folder = settings.out ?? join('runs', `${config.start}-${config.method}-seed${config.seed}`);
  await announceBackend(settings.backend);
  const world = await loadWorld({ folder: settings.data, titleWeight: config.titleWeight });
  const startPath = settings.model ?? startFolder(config.start as StartName);
  const start = await loadModel(startPath);
  const data = ['passages.jsonl', 'questions.jsonl'].map((name) => join(settings.data ?? MINI_WIKI, name));
  const signal = interruptSignal('Finishing this step and writing a checkpoint; Ctrl-C again stops at once.');
  process.stderr.write(
    `${config.method} from ${config.start}, seed ${config.seed}, config ${configHash(config)}, into ${folder}\n`,
  );
  let progress: Progress | undefined;
  try {
    await runGrpo({
      config,
      start,
      inputsHash: await contentHash([join(startPath, 'model.safetensors'), ...data]),
      folder,
      signal,
      questions: world.questions.filter(({ split }) => split === 'train'),
      retriever: world.retriever,
      onStep: (step, metrics, alarms) => {
        const note = `reward ${metrics.reward.toFixed(2)}, turns ${metrics.turns.toFixed(2)}, decomposed ${metrics.decomposition_ratio.toFixed(2)}`;
        progress ??= startProgress('Training', config.grpo.steps, step);
        progress.update(step + 1, [note, ...alarms].join('; '));
      },
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    process.stderr.write(`Stopped. The same command goes on from here.\n`);
    return 130;
  } finally {
    progress?.stop();
    disposeWeights(start.weights);
  }
  process.stderr.write(`The adapter is in ${join(folder, 'adapter')}.\n`);
  return 0;
}

/** The `train` command. */
export function trainCommand(): Command {
  return new Command('train')
    .description('train a policy with GRPO; goes on where an earlier run of the same configuration stopped')
    .option('--config <file>', 'a training configuration (JSON); replaces --method, --start and --seed')
    .addOption(
      new Option('--method <name>', 'preset')
        .choices(['search-r1', 'parallelsearch'])
        .default('parallelsearch'),
    )
    .addOption(new Option('--start <name>', 'weights to start from').choices(START_NAMES).default('instruct'))
    .option('--seed <n>', 'seed of everything random', parseCount, 1)
    .option('--lambda-d <x>', 'weight of the decomposition reward, instead of the preset’s', parseWeight)
    .option('--lambda-s <x>', 'weight of the search-count reward, instead of the preset’s', parseWeight)
    .option('--steps <n>', 'GRPO steps, instead of the configuration’s', parseCount)
    .option('--model <folder>', 'a Llama-type model in Hugging Face format to start from')
    .option(
      '--data <folder>',
      'a folder with passages.jsonl and questions.jsonl (FlashRAG layout with graphs)',
    )
    .option('--out <folder>', 'where metrics, trajectories, checkpoint and adapter go')
    .addOption(backendOption())
    .action(async (settings: TrainSettings) => {
      process.exitCode = await runTrain(settings);
    });
}
