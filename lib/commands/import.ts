/**
 * `parallelsearch import verl|trl|verifiers FOLDER`: imports another trainer's weights
 * and rollouts, to evaluate, compare and view.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { loadQuestions } from '../data/flashrag.js';
import { exportableMethods } from '../interop/export.js';
import {
  copyCheckpoint,
  findCheckpoint,
  importRollouts,
  type RecordedStep,
} from '../interop/import.js';
import { readTrlRollouts, trlRolloutFiles } from '../interop/trl.js';
import { readVerifiersRollouts, verifiersRolloutFiles } from '../interop/verifiers.js';
import { readVerlRollouts, verlRolloutFiles } from '../interop/verl.js';
import { startProgress } from '../io/progress.js';
import { RUN_FILE, TRAJECTORIES_FILE } from '../policy/folders/files.js';
import { DEFAULT_METHOD } from '../training/models.js';
import { choice, log } from './common/cli-utils.js';

interface Trainer {
  name: string;
  /** Default: its name. */
  title?: string;
  /** Subfolders of an exported folder that may contain rollouts. */
  rollouts: string[];
  files: (folder: string) => string[];
  read: (folder: string) => AsyncGenerator<RecordedStep>;
}

const TRAINERS: readonly Trainer[] = [
  { name: 'verl', rollouts: ['rollouts'], files: verlRolloutFiles, read: readVerlRollouts },
  {
    name: 'trl',
    title: 'TRL',
    files: trlRolloutFiles,
    read: readTrlRollouts,
    rollouts: ['checkpoints/completions', 'completions'],
  },
  { name: 'verifiers', files: verifiersRolloutFiles, read: readVerifiersRollouts, rollouts: [] },
];

interface ImportSettings {
  out: string;
  method: string;
  data?: string;
}

/** @throws Error if there is neither a checkpoint nor rollouts */
async function runImport(
  folder: string,
  { out, method, data }: ImportSettings,
  trainer: Trainer,
): Promise<void> {
  if (!existsSync(folder))
    throw new Error(`Expected the folder ${folder}, but there is none. Check the path.`);
  if ([RUN_FILE, 'adapter'].some((part) => existsSync(path.join(out, part))))
    throw new Error(
      `Expected --out to be a new folder or an earlier import, but ${out} has a training run. Choose another.`,
    );
  const { name, rollouts, files, read } = trainer;
  const checkpoint = findCheckpoint(path.join(folder, 'checkpoints')) ?? findCheckpoint(folder);
  const recorded = [...rollouts.map((part) => path.join(folder, part)), folder].find(
    (place) => existsSync(place) && files(place).length > 0,
  );
  if (!checkpoint && !recorded)
    throw new Error(
      `Expected a checkpoint or rollouts of ${name} in ${folder}, but found neither. Pass the folder that export wrote, or one with rollouts.`,
    );
  if (recorded) {
    const questions = await loadQuestions(data);
    const progress = startProgress('Reading steps', files(recorded).length);
    let done = 0;
    const onStep = (): void => progress.update(++done);
    const options = { folder: out, questions, method, trainer: name, onStep };
    const imported = await importRollouts(read(recorded), options).finally(() => progress.stop());
    const { numSteps, numRollouts, numUnknown, numDifferent, numAmbiguous, numUnscored } = imported;
    if (numRollouts === 0 && !checkpoint)
      throw new Error(
        `Expected rollouts with a reward in ${recorded}, but none of ${numUnscored} has one. Score recordings without rewards with \`score\`.`,
      );
    log(
      `${numRollouts} rollouts of ${numSteps} steps: npx parallelsearch view ${path.join(out, TRAJECTORIES_FILE)}`,
    );
    if (numUnknown > 0)
      log(
        `${numUnknown} of them have no matching question in ${data ?? 'the small world'}, so they have no dependency graph. Pass their questions with --data.`,
      );
    if (numDifferent > 0)
      log(
        `${numDifferent} of them keep a reward that differs from ${method}'s here: the weights differed, or the text does not show which parts the policy wrote.`,
      );
    if (numAmbiguous > 0)
      log(
        `${numAmbiguous} of them do not show which parts the policy wrote: information in doubt counts as the policy's; the viewer marks them.`,
      );
    if (numUnscored > 0) log(`Left out ${numUnscored} rollouts without a reward.`);
    log(`To compare with another run: npx parallelsearch compare ${out} OTHER`);
  }
  if (checkpoint) {
    const model = path.join(out, 'model');
    await copyCheckpoint(checkpoint, model);
    log(
      `Weights of ${checkpoint}: npx parallelsearch evaluate --model ${model} --method ${method}`,
    );
  }
}

export function importCommand(): Command {
  const command = new Command('import').description(
    'import weights and rollouts of another trainer, to evaluate, compare and view them',
  );
  for (const trainer of TRAINERS)
    command.addCommand(
      new Command(trainer.name)
        .description(`import weights and rollouts written by ${trainer.title ?? trainer.name}`)
        .argument(
          '<folder>',
          `folder of \`export ${trainer.name}\`, or one with a checkpoint or rollouts`,
        )
        .requiredOption(
          '-o, --out <folder>',
          'output folder: model, trajectories.jsonl, metrics.jsonl',
        )
        .addOption(
          choice(
            '--method <name>',
            'method whose rewards were used',
            exportableMethods(),
            DEFAULT_METHOD,
          ),
        )
        .option('--data <folder>', 'questions with types and graphs (default: the small world)')
        .action((folder: string, settings: ImportSettings) => runImport(folder, settings, trainer)),
    );
  return command;
}
