/** A GRPO run: steps with metrics, trajectories, checkpoints and guards, from a start to an adapter. */
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { configHash } from '../config.js';
import { arraysFromAdapter, peftConfig } from '../policy/lora.js';
import { writeFileSafely } from '../policy/model-folder.js';
import { printSafetensors } from '../policy/safetensors.js';
import type { Weights } from '../policy/weights.js';
import { PAPER_REWARD } from '../rewards/reward.js';
import { dropLinesFrom, resumeCheckpoint } from './checkpoint.js';
import type { GrpoMetrics } from './grpo.js';
import { alarmsOf } from './guards.js';
import { GrpoTrainer, type GrpoTask } from './trainer.js';

export interface GrpoRun extends GrpoTask {
  /** Hash of the start's weights, the questions and the passages: a run does not go on with others. */
  inputsHash: string;
  /** Where metrics, trajectories, checkpoint and adapter go. */
  folder: string;
  signal?: AbortSignal;
  onStep?: (step: number, metrics: GrpoMetrics, alarms: string[]) => void;
}

/** The name of a reward of one's own; nothing for the paper's, which the configuration describes. */
const ownRewardOf = ({ reward = PAPER_REWARD }: GrpoRun): { reward?: string } =>
  reward === PAPER_REWARD ? {} : { reward: reward.name };

const hashOf = (run: GrpoRun): string =>
  configHash({ config: run.config, inputsHash: run.inputsHash, ...ownRewardOf(run) });

/**
 * Trains and writes `adapter/` (PEFT's format). A run that was stopped goes on from its checkpoint, with the same result as
 * one that was not.
 * @throws the signal's reason after a checkpoint; Error when a metric is not a number
 */
export async function runGrpo(run: GrpoRun): Promise<void> {
  const { config, folder, signal } = run;
  await mkdir(folder, { recursive: true });
  const [checkpointFolder, metricsFile, trajectoriesFile] = [
    'checkpoint',
    'metrics.jsonl',
    'trajectories.jsonl',
  ].map((name) => join(folder, name));
  const checkpoint = await resumeCheckpoint(checkpointFolder, hashOf(run));
  const trainer = new GrpoTrainer(run);
  try {
    if (checkpoint) trainer.restore(checkpoint);
    const firstStep = trainer.step;
    await Promise.all([metricsFile, trajectoriesFile].map((path) => dropLinesFrom(path, firstStep)));
    while (trainer.step < config.grpo.steps) {
      if (signal?.aborted) {
        await trainer.save(checkpointFolder, hashOf(run));
        signal.throwIfAborted();
      }
      const { step } = trainer;
      const { metrics, trajectories } = await trainer.next();
      const alarms = alarmsOf(metrics);
      await appendFile(metricsFile, `${JSON.stringify({ step, ...metrics, alarms })}\n`);
      const lines = trajectories.map(
        (trajectory) => `${JSON.stringify({ step, method: config.method, ...compact(trajectory) })}\n`,
      );
      await appendFile(trajectoriesFile, lines.join(''));
      run.onStep?.(step, metrics, alarms);
      const isLast = trainer.step === config.grpo.steps;
      if (isLast || trainer.step % config.checkpointEvery === 0)
        await trainer.save(checkpointFolder, hashOf(run));
    }
    await saveAdapter(run, trainer.adapter);
  } finally {
    trainer.dispose();
  }
}

/** A trajectory for the record: log-probabilities to four places. */
function compact<T extends { segments: { logProbs?: number[] }[] }>(trajectory: T): T {
  const segments = trajectory.segments.map((segment) =>
    segment.logProbs
      ? { ...segment, logProbs: segment.logProbs.map((x) => Math.round(x * 1e4) / 1e4) }
      : segment,
  );
  return { ...trajectory, segments };
}

async function saveAdapter(run: GrpoRun, adapter: Weights): Promise<void> {
  const { config, start, folder } = run;
  const arrays = await arraysFromAdapter(adapter, start.config, config.lora);
  const metadata = { config_hash: configHash(config), ...ownRewardOf(run) };
  const bytes = printSafetensors(arrays, { storage: 'F16', metadata });
  const adapterFolder = join(folder, 'adapter');
  await writeFileSafely(join(adapterFolder, 'adapter_model.safetensors'), bytes);
  const print = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
  await writeFileSafely(
    join(adapterFolder, 'adapter_config.json'),
    print(peftConfig(config.lora, `../${config.start}`)),
  );
  await writeFileSafely(join(adapterFolder, 'train_config.json'), print(config));
}
