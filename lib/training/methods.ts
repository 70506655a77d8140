/**
 * The methods, in the order of tables: from no search to parallel search. A method says
 * how it answers and where its weights come from; a new one is an entry here.
 */
import { createRegistry, nameSchema } from '../registry.js';
import type { RewardPresetName } from '../rewards/presets.js';
import { rolloutSchema, type RolloutConfig, type RolloutInput } from '../rollout/options.js';
import { PROMPTS, type Prompt } from '../text/prompts.js';

/** The ways to train a policy, by the section of a configuration that each reads. */
export const TRAINER_NAMES = [
  'grpo',
  'ppo',
  'sft',
  'rejection-sampling',
  'demonstrations',
  'zerosearch',
  'zerosearch-simulator',
] as const;
export type TrainerName = (typeof TRAINER_NAMES)[number];

export interface Method {
  /** On the command line and in files. */
  readonly name: string;
  /** In tables and charts. */
  readonly title: string;
  readonly source: string;
  /** Its row in the tables of the ParallelSearch paper; null if it has none. */
  readonly paperName: string | null;
  /** A prompt of its own, which `rollout` names. */
  readonly prompt?: Prompt;
  /** How it answers. */
  readonly rollout: RolloutInput;
  /**
   * Where its weights come from: a training, the weights of another method, or (null) the
   * initial model.
   */
  readonly training:
    | { readonly trainer: TrainerName; readonly rewards: RewardPresetName }
    | { readonly weightsFrom: string }
    | null;
  /** Only trained for the sake of others: it is in no comparison. */
  readonly isPreparation?: boolean;
}

const THIS_PROJECT = 'this project';
const SEARCH_R1_PAPER = 'Search-R1, arXiv 2503.09516';
const PARALLELSEARCH_PAPER = 'ParallelSearch, arXiv 2508.09303';

const NO_SEARCH: RolloutInput = { prompt: 'r1', splitQueries: false, maxSearchTurns: 0 };
const SEQUENTIAL: RolloutInput = { prompt: 'search-r1', splitQueries: false };
const PARALLEL: RolloutInput = { prompt: 'parallel', splitQueries: true };

/** No model: a table of the wordings of training questions and of their evidence. */
const lookup: Method = {
  name: 'lookup',
  title: 'Lookup of wordings',
  source: THIS_PROJECT,
  paperName: null,
  rollout: PARALLEL,
  training: null,
};

/** Direct inference without retrieval: the initial model, asked to answer at once. */
const r1: Method = {
  name: 'r1',
  title: 'R1 (no search)',
  source: 'DeepSeek-R1, arXiv 2501.12948',
  paperName: null,
  rollout: NO_SEARCH,
  training: null,
};

const untrained = (prompt: string, title: string, rollout: RolloutInput): Method => ({
  name: `untrained:${prompt}`,
  title: `Untrained, ${title}`,
  source: 'the initial model, before reinforcement',
  paperName: null,
  rollout: { ...rollout, prompt },
  training: null,
});

/**
 * The initial model under every prompt it has seen: what reinforcement adds is measured
 * against the best of them.
 */
export const UNTRAINED: readonly Method[] = [
  untrained('search-r1', 'Search-R1’s prompt', SEQUENTIAL),
  untrained('parallel', 'parallel prompt', PARALLEL),
  // The practice prompt of the warm-up, which reinforcement never uses.
  untrained('drill', 'practice prompt', PARALLEL),
];

/** The supervised warm-up of a language model on an expert's searches. */
const demonstrations: Method = {
  name: 'demonstrations',
  title: 'Demonstrations (before reinforcement)',
  source: THIS_PROJECT,
  paperName: null,
  rollout: PARALLEL,
  training: { trainer: 'demonstrations', rewards: 'search-r1' },
  isPreparation: true,
};

/** R1 as in the paper's tables: the same with reinforcement by right answers. */
const r1Trained: Method = {
  name: 'r1:trained',
  title: 'R1 (no search), trained',
  source: `${SEARCH_R1_PAPER}, Table 2; DeepSeek-R1, arXiv 2501.12948`,
  paperName: 'R1',
  rollout: NO_SEARCH,
  training: { trainer: 'grpo', rewards: 'search-r1' },
};

/** Gold answers learned by supervision, without search. */
const supervisedFineTuning: Method = {
  name: 'sft',
  title: 'SFT (no search)',
  source: `${SEARCH_R1_PAPER}, Table 2`,
  paperName: null,
  rollout: NO_SEARCH,
  training: { trainer: 'sft', rewards: 'search-r1' },
};

/** The initial model's own right rollouts, learned by supervision. */
const rejectionSampling: Method = {
  name: 'rejection-sampling',
  title: 'Rejection sampling',
  source: `${SEARCH_R1_PAPER}, Table 2`,
  paperName: null,
  rollout: SEQUENTIAL,
  training: { trainer: 'rejection-sampling', rewards: 'search-r1' },
};

/** OTC: Search-R1, but a right answer is worth more the fewer searches it took. */
const otc: Method = {
  name: 'otc',
  title: 'OTC',
  source: 'OTC, arXiv 2504.14870, GRPO form',
  paperName: 'OTC',
  rollout: SEQUENTIAL,
  training: { trainer: 'grpo', rewards: 'otc-grpo' },
};

const otcPpo: Method = {
  ...otc,
  name: 'otc:ppo',
  title: 'OTC, PPO',
  source: 'OTC, arXiv 2504.14870, PPO form',
  paperName: null,
  training: { trainer: 'ppo', rewards: 'otc-ppo' },
};

/** StepSearch: Search-R1 with a reward for each search turn, by PPO. */
const stepSearch: Method = {
  name: 'stepsearch',
  title: 'StepSearch',
  source: 'StepSearch, arXiv 2505.15107',
  paperName: 'StepSearch',
  rollout: SEQUENTIAL,
  training: { trainer: 'ppo', rewards: 'stepsearch' },
};

/**
 * The same rewards with GRPO: those of search turns become advantages of their tokens.
 */
const stepSearchGrpo: Method = {
  ...stepSearch,
  name: 'stepsearch:grpo',
  title: 'StepSearch, GRPO',
  source: 'StepSearch, arXiv 2505.15107; turn-level advantages of MT-GRPO, arXiv 2505.11821',
  paperName: null,
  training: { trainer: 'grpo', rewards: 'stepsearch' },
};

/** ZeroSearch: Search-R1 that learns while another policy plays the search engine. */
const zeroSearch: Method = {
  name: 'zerosearch',
  title: 'ZeroSearch',
  source: 'ZeroSearch, arXiv 2505.04588',
  paperName: 'ZeroSearch',
  rollout: SEQUENTIAL,
  training: { trainer: 'zerosearch', rewards: 'f1' },
};

/** The policy that plays the search engine. */
export const zeroSearchSimulator: Method = {
  ...zeroSearch,
  name: 'zerosearch:simulator',
  title: 'ZeroSearch, its search engine',
  paperName: null,
  training: { trainer: 'zerosearch-simulator', rewards: 'search-r1' },
  isPreparation: true,
};

/** Search-R1: its prompt, the outcome reward, one query per search. */
const searchR1: Method = {
  name: 'search-r1',
  title: 'Search-R1',
  source: SEARCH_R1_PAPER,
  paperName: 'Search-R1',
  rollout: SEQUENTIAL,
  training: { trainer: 'grpo', rewards: 'search-r1' },
};

/** With the four search turns of the authors' code: too few for each of five entities. */
const searchR1FourTurns: Method = {
  ...searchR1,
  name: 'search-r1:b4',
  title: 'Search-R1, four search turns',
  paperName: null,
  rollout: { ...SEQUENTIAL, maxSearchTurns: 4 },
};

const searchR1Ppo: Method = {
  ...searchR1,
  name: 'search-r1:ppo',
  title: 'Search-R1, PPO',
  paperName: null,
  training: { trainer: 'ppo', rewards: 'search-r1' },
};

/** Search-R1's weights with the parallel prompt: what the prompt alone brings. */
const searchR1ParallelPrompt: Method = {
  name: 'search-r1-parallel-prompt',
  title: 'Search-R1 + parallel prompt',
  source: `${PARALLELSEARCH_PAPER}, Table 3`,
  paperName: 'Search-R1+Parallel Prompt',
  rollout: PARALLEL,
  training: { weightsFrom: 'search-r1' },
};

/** ParallelSearch: the parallel prompt and the rewards of Eq. 3 to 7. */
const parallelSearch: Method = {
  name: 'parallelsearch',
  title: 'ParallelSearch',
  source: PARALLELSEARCH_PAPER,
  paperName: 'ParallelSearch',
  rollout: PARALLEL,
  training: { trainer: 'grpo', rewards: 'paper' },
};

const parallelSearchPpo: Method = {
  ...parallelSearch,
  name: 'parallelsearch:ppo',
  title: 'ParallelSearch, PPO',
  paperName: null,
  training: { trainer: 'ppo', rewards: 'paper' },
};

/** With the rewards of the authors' released code, which depart from the equations. */
const parallelSearchReleasedCode: Method = {
  ...parallelSearch,
  name: 'parallelsearch:released-code',
  title: 'ParallelSearch, released code',
  paperName: null,
  training: { trainer: 'grpo', rewards: 'authors-code' },
};

/**
 * Only in the experiment `baselines`: other papers' methods, and other ways to train this
 * one's.
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
    searchR1FourTurns,
    searchR1ParallelPrompt,
    parallelSearch,
  ],
  { onAdd: ({ prompt }) => prompt && PROMPTS.add(prompt) },
);

/** A method's name in a configuration or a file. */
export const methodNameSchema = nameSchema(METHODS);

/** The title of a method; an unknown name stands for itself. */
export const methodTitle = (name: string): string =>
  METHODS.has(name) ? METHODS.get(name).title : name;

/** How a method answers, with defaults. @throws RangeError for an unknown method */
export const rolloutConfigOf = (name: string): RolloutConfig =>
  rolloutSchema.parse(METHODS.get(name).rollout);

/** Names of the methods that are trained, each with weights of its own. */
export const trainedMethods = (): string[] =>
  METHODS.all().flatMap(({ name, training }) => (training && 'trainer' in training ? [name] : []));

/**
 * The method whose training a method's weights come from: itself, another one, or null
 * for the initial model.
 * @throws RangeError for an unknown method
 */
export function trainedBy(name: string): string | null {
  const { training } = METHODS.get(name);
  if (!training) return null;
  return 'weightsFrom' in training ? training.weightsFrom : name;
}
