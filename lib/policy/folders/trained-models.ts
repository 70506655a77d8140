/**
 * Trained language models: weights from a Python package, with a warm-up merged into them
 * on first use, and a method's adapter.
 */
import { basename, join } from 'node:path';
import { outputPath, packagePath } from '../../io/paths.js';
import { createRegistry } from '../../registry.js';
import { MODEL_PACKAGES } from './model-packages.js';

export const modelsFolder = (): string => process.env.PARALLELSEARCH_MODELS || outputPath('models');
/** Adapters of the experiment with a language model. */
export const REAL_MODEL = packagePath('data', 'real-model');
/** Adapters of its second edition, which learned to read first. */
export const READER = packagePath('data', 'reader');

interface TrainedModel {
  readonly name: string;
  /** A name in {@link MODEL_PACKAGES}. */
  readonly package: string;
  readonly warmUp: string;
  /** The folder in {@link modelsFolder} that the package makes. */
  readonly base: string;
  readonly adapter: string;
  readonly description: string;
}

/** The adapter with the higher mean dev reward of two seeds. */
const smolLm2 = (method: string, seed: number, does: string): TrainedModel => ({
  name: `smollm2-${method}`,
  package: 'smollm2-135m-instruct',
  warmUp: join(READER, 'warm-up'),
  base: 'smollm2-135m-instruct-reader',
  adapter: join(READER, `${method}-seed${seed}`),
  description: `SmolLM2-135M-Instruct, trained on HotpotQA, 2WikiMultiHopQA and MuSiQue to ${does}`,
});

export const TRAINED_MODELS = createRegistry<TrainedModel>('trained model', [
  smolLm2('parallelsearch', 2, 'search for independent sub-questions in one turn'),
  smolLm2('search-r1', 1, 'search for one sub-question per turn'),
]);

/** The folder of a model with its warm-up merged into it. */
export const warmedUpFolder = (model: string): string =>
  join(modelsFolder(), `${basename(model)}-warm-up`);

/** The command or option that makes a base model of this project, if it is one. */
export function howToMake(name: string): string | undefined {
  if (MODEL_PACKAGES.has(name)) return `\`npx parallelsearch model ${name}\`, which makes it.`;
  const options = TRAINED_MODELS.all()
    .filter((trained) => trained.base === name)
    .map((trained) => `--model ${trained.name}`);
  return options.length > 0 ? `${options.join(' or ')}, which makes it.` : undefined;
}
