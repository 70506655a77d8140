/**
 * The methods, in the order of tables: from no search to parallel search. A new one is
 * its file and its line here.
 */
import { createRegistry, nameSchema } from '../registry.js';
import { rolloutSchema, type RolloutConfig } from '../rollout/options.js';
import { PROMPTS } from '../text/prompts.js';
import type { Method } from './method.js';
import { demonstrations } from './demonstrations.js';
import { rejectionSampling, supervisedFineTuning } from './imitation.js';
import { lookup } from './lookup.js';
import { otc, otcPpo } from './otc.js';
import { parallelSearch, parallelSearchPpo, parallelSearchReleasedCode } from './parallelsearch.js';
import { r1, r1Trained } from './r1.js';
import { searchR1ParallelPrompt } from './search-r1-parallel-prompt.js';
import { searchR1, searchR1InFour, searchR1Ppo } from './search-r1.js';
import { stepSearch, stepSearchGrpo } from './stepsearch.js';
import { UNTRAINED } from './untrained.js';
import { zeroSearch, zeroSearchSimulator } from './zerosearch.js';

export type { Method } from './method.js';

/**
 * Those of the experiment `baselines` alone: other papers' methods, and other ways to
 * train this one's.
 */
export const BASELINES: readonly Method[] = [
  r1Trained,
  supervisedFineTuning,
  rejectionSampling,
  otc,
  otcPpo,
  stepSearch,
  stepSearchGrpo,
  zeroSearchSimulator,
  zeroSearch,
  searchR1Ppo,
  parallelSearchPpo,
  parallelSearchReleasedCode,
];

export const METHODS = createRegistry<Method>(
  'method',
  [
    lookup,
    r1,
    ...UNTRAINED,
    demonstrations,
    ...BASELINES,
    searchR1,
    searchR1InFour,
    searchR1ParallelPrompt,
    parallelSearch,
  ],
  { onAdd: ({ prompt }) => prompt && PROMPTS.add(prompt) },
);

/** A method's name in a configuration or a file. */
export const methodNameSchema = nameSchema(METHODS);

/** The title of a method; a name that is none of a method stands for itself. */
export const methodTitle = (name: string): string =>
  METHODS.has(name) ? METHODS.get(name).title : name;

/** How a method's rollouts go. @throws RangeError for an unknown method */
export const rolloutConfigOf = (name: string): RolloutConfig =>
  rolloutSchema.parse(METHODS.get(name).rollout);

/** Names of the methods that are trained, each with weights of its own. */
export const trainedMethods = (): string[] =>
  METHODS.all().flatMap(({ name, training }) => (training && 'trainer' in training ? [name] : []));

/**
 * The method whose training a method's weights come from: itself, another one, or null
 * for those of the initial model.
 * @throws RangeError for an unknown method
 */
export function trainedBy(name: string): string | null {
  const { training } = METHODS.get(name);
  if (!training) return null;
  return 'weightsOf' in training ? training.weightsOf : name;
}
