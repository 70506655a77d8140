/**
 * Trains an adapter of the real model in its own process, evaluates it on dev questions
 * every few steps, and publishes the best one. Resumes if interrupted.
 */
import { relative } from 'node:path';
import { range } from 'd3-array';
import {
  adapterPath,
  INITIAL,
  loadRealWorld,
  MODEL,
  realConfig,
  realRunName,
  WARM_UP,
  type RealRun,
} from '../../lib/experiments/real-model/settings.js';
import { makeInitialModel, realRunFolder } from '../../lib/experiments/real-model/train.js';
import { asScript } from '../../lib/io/scripts.js';
import { useBackend, type BackendName } from '../../lib/tensor/backend.js';
import { trainerSettings, withSettings } from '../../lib/training/config.js';
import { publishAdapter, trainAdapter } from './publish.js';

/** Steps between adapters evaluated on dev questions; 0 is the model without one. */
const KEEP_EVERY = 15;
/** Rounded weights compress to three quarters of the size. */
const SIGNIFICANT_BITS = 6;
/** A group shares its prompt in a pass. On a GPU, the number of passes costs more. */
const TOKENS_PER_PASS = { cpu: 6144, gpu: 8192 };

async function trainRun(
  { run, backend }: { run: RealRun; backend: BackendName },
  signal: AbortSignal,
): Promise<void> {
  await useBackend(backend);
  const isWarmUp = run.method === WARM_UP.method;
  if (!isWarmUp) await makeInitialModel();
  const { retriever, train: questions, dev } = await loadRealWorld();
  const isOnGpu = backend === 'gpu' || backend === 'webgpu';
  const maxTokensPerPass = TOKENS_PER_PASS[isOnGpu ? 'gpu' : 'cpu'];
  const config = withSettings(realConfig(run), { maxTokensPerPass });
  const { steps } = trainerSettings(config);
  const [folder, modelFolder] = [realRunFolder(run), isWarmUp ? MODEL : INITIAL];
  const curve = await trainAdapter({
    config,
    modelFolder,
    folder,
    retriever,
    questions,
    dev,
    evaluatedSteps: isWarmUp ? [steps] : [...range(0, steps, KEEP_EVERY), steps],
    significantBits: SIGNIFICANT_BITS,
    signal,
  });
  await publishAdapter(adapterPath(run), folder, curve, {
    name: realRunName(run),
    model: isWarmUp ? config.model.split('/').at(-1)! : 'the model after the warm-up',
    base: relative(adapterPath(run), modelFolder),
    purpose:
      'It shows that a small language model can learn this; do not rely on it as a search agent.',
  });
}

asScript<{ run: RealRun; backend: BackendName }>(import.meta.url, (task, { signal }) =>
  trainRun(task, signal),
);
