/** The tools that make the data in this repository: `npm run tools -- NAME`. */
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Argument, Command } from 'commander';
import {
  CHECKPOINT_NOTICE,
  exitWith,
  interruptible,
  log,
  parseCount,
} from '../lib/commands/common/cli-utils.js';
import { backendOption } from '../lib/commands/common/options.js';
import { MODEL } from '../lib/experiments/real-model/settings.js';
import { jsonLine, writeFileSafely } from '../lib/io/files.js';
import { CHECKPOINTS, ENCODER, packagePath, SMALL_WORLD } from '../lib/io/paths.js';
import { startProgress, type Progress } from '../lib/io/progress.js';
import { REFERENCE_FILE } from '../lib/pages/runs/reference.js';
import { useBackend, type BackendName } from '../lib/tensor/backend.js';
import {
  initialModelName,
  SMALL_WORLD_MODELS,
  type InitialModelName,
} from '../lib/training/models.js';
import { retrainEncoder } from './encoder/retrain-encoder.js';
import { drawCases } from './export-cases/draw-cases.js';
import { writeOthers } from './reader/draw-others.js';
import { exportReader } from './reader/export.js';
import { compareVariants } from './reference/advantage-variants.js';
import { makeReferences } from './reference/reference-curves.js';
import { writeSmallWorld } from './small-world/build.js';
import {
  FRESH_TEST_NAMES,
  writeConditions,
  writeTest,
  type FreshTestName,
} from './small-world/draw-test.js';
import { SAMPLED_SEARCHES, writeSampledSearches } from './small-world/sampled-searches.js';
import { trainInitialModel } from './warm-up/initial-models.js';
import { TRAINED_FROM } from './warm-up/recipes.js';

interface WarmUpSettings {
  seed: number;
  maxSteps?: number;
  out?: string;
  checkpoints: string;
  backend: BackendName | 'auto';
}

/** Trains an initial model; the exit code is 130 after Ctrl-C, with a checkpoint. */
async function warmUp(name: InitialModelName, settings: WarmUpSettings): Promise<number> {
  const { seed, maxSteps, checkpoints, backend } = settings;
  await useBackend(backend);
  const model = initialModelName(name, seed);
  const before = TRAINED_FROM[name];
  const from = before && join(checkpoints, initialModelName(before, seed));
  const { out: folder = join('runs', `warm-up-${model}`) } = settings;
  const to = join(checkpoints, model);
  log(`Training ${model}; checkpoints and metrics go to ${folder}.`);
  let progress: Progress | undefined;
  return interruptible(
    async (signal) => {
      await trainInitialModel(name, {
        seed,
        folder,
        maxSteps,
        from,
        to,
        signal,
        onStep: ({ step, loss }, total) => {
          progress ??= startProgress(`Warming up ${name}`, total, step);
          progress.update(step + 1, `loss ${loss.toFixed(3)}`);
        },
      }).finally(() => progress?.stop());
      log(`Wrote ${to}.`);
    },
    { stopping: CHECKPOINT_NOTICE },
  );
}

const program = new Command('npm run tools --').description('Make the data in this repository.');

program
  .command('small-world')
  .description('write passages, training and dev questions, and their card')
  .argument('[folder]', 'where to', SMALL_WORLD)
  .action(async (folder: string) => {
    await writeSmallWorld(folder);
    log(`Wrote ${folder}.`);
  });

program
  .command('draw-test')
  .description('draw the test questions from the hash of the commit that froze the weights')
  .argument('[commit]', 'the commit', 'HEAD')
  .argument('[folder]', 'where to', SMALL_WORLD)
  .action(async (commit: string, folder: string) => {
    log(`Drew ${await writeTest(commit, folder)} test questions into ${folder}.`);
  });

program
  .command('draw-conditions')
  .description('draw a fresh test of conditions from the hash of the commit with their predictions')
  .argument('[commit]', 'the commit', 'HEAD')
  .addArgument(
    new Argument('[test]', 'which one').choices(FRESH_TEST_NAMES).default(FRESH_TEST_NAMES[0]),
  )
  .action(async (commit: string, test: FreshTestName) => {
    log(`Drew ${await writeConditions(commit, test)} questions.`);
  });

program
  .command('draw-others')
  .description('draw the language model’s test of other benchmarks from the hash of a commit')
  .argument('[commit]', 'the commit', 'HEAD')
  .action(async (commit: string) => {
    log(`Drew ${await writeOthers(commit)} questions.`);
  });

program
  .command('sampled-searches')
  .description('count what the rollouts of training runs searched for, for the page of conditions')
  .argument('<runs...>', 'folders of the runs from hasty models, with trajectories.jsonl')
  .action(async (runs: string[]) => {
    await writeSampledSearches(runs);
    log(`Wrote ${SAMPLED_SEARCHES}.`);
  });

program
  .command('warm-up')
  .description('train an initial model of the small world; resumes if interrupted')
  .addArgument(
    new Argument(
      '<name>',
      '`instruct` is trained on from `base`, the others from `instruct`',
    ).choices(SMALL_WORLD_MODELS),
  )
  .option('--seed <n>', 'random seed', parseCount, 1)
  .option('--max-steps <n>', 'at most this many steps of each stage', parseCount)
  .option('--out <folder>', 'where checkpoints and metrics go')
  .option('--checkpoints <folder>', 'where finished models go', CHECKPOINTS)
  .addOption(backendOption())
  .action(exitWith(warmUp));

program
  .command('reader')
  .description('write the training of the second language model, for one GPU')
  .argument('<folder>', 'where to')
  .option('--model <folder>', 'the model to train', MODEL)
  .option(
    '--retriever <url>',
    'a server with the passages of all benchmarks',
    'http://127.0.0.1:8000/retrieve',
  )
  .action(async (folder: string, options: { model: string; retriever: string }) => {
    const { demonstrations, fresh } = await exportReader(folder, options);
    log(`Wrote ${folder}: ${demonstrations} demonstrations, ${fresh} fresh questions.`);
  });

program
  .command('encoder')
  .description('train the dense encoder on the small world')
  .argument('[folder]', 'where to', ENCODER)
  .addOption(backendOption())
  .action(async (folder: string, { backend }: Pick<WarmUpSettings, 'backend'>) => {
    await useBackend(backend);
    await retrainEncoder(folder);
    log(`Wrote ${folder}.`);
  });

program
  .command('reference-curves')
  .description('write the bands of the recorded runs, which the pages of other runs show')
  .argument('[file]', 'where to', REFERENCE_FILE)
  .action(async (file: string) => {
    const references = await makeReferences(CHECKPOINTS);
    await writeFileSafely(file, `${JSON.stringify(references)}\n`);
    log(`Wrote ${references.length} references into ${file}.`);
  });

program
  .command('advantage-variants')
  .description('compare variants of GRPO on the rollouts of a training run, for the page of GRPO')
  .argument('<file>', 'trajectories.jsonl of a run')
  .option('--group-size <n>', 'rollouts per question', parseCount, 8)
  .action(async (file: string, { groupSize }: { groupSize: number }) => {
    for (const row of await compareVariants(file, groupSize)) process.stdout.write(jsonLine(row));
  });

program
  .command('export-cases')
  .description('draw the cases that test the rewards and rollouts of exported training setups')
  .argument('[folder]', 'where to', packagePath('data', 'templates', 'python', 'cases'))
  .action(async (folder: string) => {
    for (const [name, lines] of Object.entries(await drawCases())) {
      const packed = gzipSync(lines.map(jsonLine).join(''), { level: 9 });
      await writeFileSafely(join(folder, `${name}.jsonl.gz`), packed);
    }
    log(`Wrote ${folder}.`);
  });

await program.parseAsync();
