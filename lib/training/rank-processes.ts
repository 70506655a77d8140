/** Starts and runs the processes of data-parallel training (`ranks.ts`). */
import * as tf from '@tensorflow/tfjs-core';
import { connectToParent, startPeer, type Channel } from '../io/processes.js';
import { loadModel } from '../policy/folders/model-folder.js';
import { useBackend, type BackendName } from '../tensor/backend.js';
import { Ranks } from './ranks.js';
import type { TrainingTask } from './trainer.js';
import { createTrainer } from './trainers.js';

/** What a rank needs of the training task. Only rank 0 searches and scores. */
interface RankTask extends Pick<TrainingTask, 'config' | 'questions'> {
  rank: number;
  size: number;
  backend: BackendName;
  modelFolder: string;
  /** Names and weights of custom rewards. */
  rewards?: { name: string; weight?: number }[];
}

/**
 * Starts a process for each rank except 0, which is this process.
 * @param size number of ranks, including this process
 * @throws RangeError on a GPU, which one process fills
 */
export function startRanks(
  { config, questions, rewards }: TrainingTask,
  { size, modelFolder }: { size: number; modelFolder: string },
): Ranks {
  const names = rewards?.map(({ name, weight }) => ({ name, weight }));
  const shared = { size, backend: cpuBackend(), modelFolder, config, questions, rewards: names };
  const channels = Array.from({ length: size - 1 }, (_, i): Channel => {
    const channel = startPeer(import.meta.url, `Training process ${i + 2} of ${size}`);
    channel.send({ rank: i + 1, ...shared } satisfies RankTask);
    return channel;
  });
  return new Ranks(0, size, channels);
}

/** The name of the backend in use, for other processes. @throws RangeError on a GPU */
function cpuBackend(): BackendName {
  const name = tf.getBackend();
  if (name === 'wasm' || name === 'cpu') return name;
  const isGpu = (tf.backend() as { isUsingGpuDevice?: boolean }).isUsingGpuDevice;
  if (name === 'tensorflow' && !isGpu) return 'native';
  throw new RangeError(
    'Expected one process on a GPU, which a second would not make faster. Use --processes 1.',
  );
}

const onlyOnRank0 = (): never => {
  throw new Error('Expected rank 0 to search and score.');
};

connectToParent(import.meta.url, async (leader) => {
  const task = (await leader.receive()) as RankTask;
  const { rank, size, config, questions, rewards } = task;
  await useBackend(task.backend);
  const trainer = await createTrainer({
    config,
    questions,
    model: await loadModel(task.modelFolder),
    retriever: { name: 'rank 0', retrieve: onlyOnRank0 },
    rewards: rewards?.map((reward) => ({ ...reward, score: onlyOnRank0 })),
    ranks: new Ranks(rank, size, [leader]),
  });
  // Runs until rank 0 ends this process.
  for (;;) await trainer.next();
});
