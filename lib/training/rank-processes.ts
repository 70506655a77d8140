/** The processes of a data-parallel training (`ranks.ts`). */
import * as tf from '@tensorflow/tfjs-core';
import { connectToParent, startPeer, type Channel } from '../io/processes.js';
import { loadModel } from '../policy/model-folder.js';
import { useBackend, type BackendName } from '../tensor/backend.js';
import { Ranks } from './ranks.js';
import type { TrainingTask } from './trainer.js';
import { createTrainer } from './trainers.js';

/** The training task of a rank. Only rank 0 searches and scores. */
interface RankTask extends Pick<TrainingTask, 'config' | 'questions'> {
  rank: number;
  size: number;
  backend: BackendName;
  modelFolder: string;
  /** Names and weights of a task's own rewards. */
  rewards?: { name: string; weight?: number }[];
}

/**
 * Starts processes for all ranks but 0, which is this process.
 * @param size number of ranks, with this process
 * @throws RangeError for a GPU, which one process fills
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

/** The backend in use, for another process. */
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
  // Until rank 0 ends this process.
  for (;;) await trainer.next();
});
