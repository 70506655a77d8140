/**
 * Trains a run of the small world in its own process. Keeps its adapter every few steps,
 * and publishes the one with the highest mean dev reward. Resumes if interrupted.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { range } from 'd3-array';
import {
  adapterFolder,
  modelNameForRun,
  runName,
  trainConfigForRun,
  type PolicyRun,
} from '../../lib/experiments/running/policy-runs.js';
import { keptSteps } from '../../lib/experiments/running/runs.js';
import {
  countSteps,
  runFolder,
  type DevPoint,
  type TrainRunsOptions,
} from '../../lib/experiments/running/train-runs.js';
import { withNearMisses } from '../../lib/experiments/training/near-misses.js';
import { CHECKPOINTS } from '../../lib/io/paths.js';
import { asScript } from '../../lib/io/scripts.js';
import { createRandom } from '../../lib/random.js';
import { loadWorld } from '../../lib/retrieval/small-world.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { withSettings } from '../../lib/training/config.js';
import { METHODS } from '../../lib/training/methods.js';
import { keptAdapter } from '../../lib/training/run.js';
import { publishAdapter, trainAdapter } from './publish.js';

/** Steps between two adapters that are evaluated on dev questions. */
const KEEP_EVERY = 25;
/** Number of dev questions for the evaluation. */
const NUM_DEV = 320;

/** Publishes the adapter with the highest mean dev reward to `root`. */
export async function publishBest(
  run: PolicyRun,
  folder: string,
  curve: readonly DevPoint[],
  root = CHECKPOINTS,
): Promise<void> {
  const model = modelNameForRun(run);
  const earlier = keptSteps(run).filter((step) => existsSync(join(folder, keptAdapter(step))));
  await publishAdapter(adapterFolder(run, root), folder, curve, {
    name: runName(run),
    model,
    base: `../${model}`,
    earlier,
    purpose: 'Made for experiments in a small world; it knows nothing else.',
  });
}

/** Trains a run in this process, evaluates its adapters and publishes the best one. */
async function trainRun(
  run: PolicyRun,
  options: Required<Omit<TrainRunsOptions, 'maxSteps' | 'onProgress'>> & { maxSteps?: number },
): Promise<void> {
  const { backend, maxSteps, signal, log } = options;
  await useBackend(backend);
  const loaded = await loadWorld();
  const world = run.nearMisses ? withNearMisses(loaded) : loaded;
  const steps = countSteps(run, maxSteps);
  const config = withSettings(trainConfigForRun(run), { steps });
  const folder = await runFolder(run, maxSteps);
  // Answers tell nothing about a search simulator's documents: publish its last one.
  const earlier = METHODS.get(run.method).isPreparation ? [] : range(0, steps, KEEP_EVERY);
  const dev = createRandom('dev')
    .shuffle(world.questions.filter(({ split }) => split === 'dev'))
    .slice(0, NUM_DEV);
  const curve = await trainAdapter({
    config,
    modelFolder: join(CHECKPOINTS, modelNameForRun(run)),
    folder,
    retriever: world.retriever,
    questions: world.questions.filter(({ split }) => split === 'train'),
    dev,
    evaluatedSteps: [...earlier, steps],
    signal,
    onStep: (step, metrics) => {
      if (step % 20 > 0) return;
      const [outcome, share] = ['rewards/outcome', 'decomposition_ratio/parallelizable'].map(
        (name) => metrics[name].toFixed(2),
      );
      log(`${runName(run)}: step ${step} of ${steps}, outcome ${outcome}, decomposed ${share}`);
    },
  });
  await publishBest(run, folder, curve);
  const outcomes = curve.map(({ outcome }) => outcome.toFixed(3)).join(' ');
  log(`${runName(run)}: done; right dev answers by step: ${outcomes}`);
}

asScript<{ run: PolicyRun } & TrainRunsOptions>(import.meta.url, ({ run, ...options }, training) =>
  trainRun(run, { ...options, ...training }),
);
