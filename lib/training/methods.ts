/**
 * The methods, in table order: from no search to parallel search. A method defines how it
 * answers and where its weights come from; add a method by adding an entry.
 */
import { createRegistry, nameSchema } from '../registry.js';
import type { RewardPresetName } from '../rewards/presets.js';
import {
  modelLimits,
  rolloutSchema,
  type RolloutConfig,
  type RolloutInput,
} from '../rollout/options.js';
import { PROMPTS, type Prompt } from '../text/prompts.js';

/** Trainers, by the configuration section that each reads. */
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
  /** Its row in the ParallelSearch paper's tables, if it has one. */
  readonly paperName?: string;
  /** A prompt of its own, named by `rollout`. */
  readonly prompt?: Prompt;
  /** Rollout settings. */
  readonly rollout: RolloutInput;
  /** Changes for the small world's models, which know `##` and lines of passages only. */
  readonly smallWorldRollout?: Partial<RolloutInput>;
  /**
   * Where its weights come from: a trainer, another method's weights, or (null) the
   * initial model.
   */
  readonly training:
    | { readonly trainer: TrainerName; readonly rewards: RewardPresetName }
    | { readonly weightsFrom: string }
    | null;
  /** Only trained for other methods; never compared. */
  readonly isPreparation?: boolean;
}

const THIS_PROJECT = 'this project';
const SEARCH_R1_PAPER = 'Search-R1, arXiv 2503.09516';
const ZEROSEARCH_PAPER = 'ZeroSearch, arXiv 2505.04588';
const PARALLELSEARCH_PAPER = 'ParallelSearch, arXiv 2508.09303';

const NO_SEARCH: RolloutInput = { prompt: 'r1', splitQueries: false, maxSearchTurns: 0 };
const SEQUENTIAL: RolloutInput = { prompt: 'search-r1', splitQueries: false };
const PARALLEL: RolloutInput = { prompt: 'parallel', splitQueries: true };

const untrained = (prompt: string, title: string, rollout: RolloutInput): Method => ({
  name: `untrained:${prompt}`,
  title: `Untrained, ${title}`,
  source: 'the initial model, before RL',
  rollout: { ...rollout, prompt },
  training: null,
});

/**
 * The initial model with every prompt it was trained on: the baseline for RL is the best
 * of them.
 */
export const UNTRAINED: readonly Method[] = [
  untrained('search-r1', 'Search-R1’s prompt', SEQUENTIAL),
  untrained('parallel', 'parallel prompt', PARALLEL),
  // The practice prompt of supervised training, unused in RL.
  untrained('drill', 'practice prompt', PARALLEL),
];

/** Not trained here: the lookup table, and the initial model without and with search. */
const WITHOUT_TRAINING: readonly Method[] = [
  {
    // Not a model: a lookup table of training questions' wordings and their evidence.
    name: 'lookup',
    title: 'Lookup of wordings',
    source: THIS_PROJECT,
    rollout: PARALLEL,
    training: null,
  },
  {
    // Direct inference without retrieval: the initial model answers at once.
    name: 'r1',
    title: 'R1 (no search)',
    source: 'DeepSeek-R1, arXiv 2501.12948',
    rollout: NO_SEARCH,
    training: null,
  },
  ...UNTRAINED,
];

/** Supervised warm-up of a language model on an expert's searches. */
const DEMONSTRATIONS: Method = {
  name: 'demonstrations',
  title: 'Demonstrations (before RL)',
  source: THIS_PROJECT,
  rollout: PARALLEL,
  training: { trainer: 'demonstrations', rewards: 'search-r1' },
  isPreparation: true,
};

/** The policy that simulates ZeroSearch's search engine. */
export const zeroSearchSimulator: Method = {
  name: 'zerosearch:simulator',
  title: 'ZeroSearch, simulated search engine',
  source: ZEROSEARCH_PAPER,
  rollout: SEQUENTIAL,
  training: { trainer: 'zerosearch-simulator', rewards: 'search-r1' },
  isPreparation: true,
};

/**
 * Only in the experiment `baselines`: other papers' methods, and variants of this one.
 */
export const BASELINES: readonly Method[] = [
  {
    // R1 as in the paper's tables: also trained by RL with the outcome reward.
    name: 'r1:trained',
    title: 'R1 (no search), trained',
    source: `${SEARCH_R1_PAPER}, Table 2; DeepSeek-R1, arXiv 2501.12948`,
    paperName: 'R1',
    rollout: NO_SEARCH,
    training: { trainer: 'grpo', rewards: 'search-r1' },
  },
  {
    // Supervised training on gold answers, without search.
    name: 'sft',
    title: 'SFT (no search)',
    source: `${SEARCH_R1_PAPER}, Table 2`,
    rollout: NO_SEARCH,
    training: { trainer: 'sft', rewards: 'search-r1' },
  },
  {
    // Supervised training on the initial model's own correct rollouts.
    name: 'rejection-sampling',
    title: 'Rejection sampling',
    source: `${SEARCH_R1_PAPER}, Table 2`,
    rollout: SEQUENTIAL,
    training: { trainer: 'rejection-sampling', rewards: 'search-r1' },
  },
  {
    // Search-R1 whose reward for a correct answer falls with the number of searches.
    name: 'otc',
    title: 'OTC',
    source: 'OTC, arXiv 2504.14870, GRPO form',
    paperName: 'OTC',
    rollout: SEQUENTIAL,
    training: { trainer: 'grpo', rewards: 'otc-grpo' },
  },
  {
    name: 'otc:ppo',
    title: 'OTC, PPO',
    source: 'OTC, arXiv 2504.14870, PPO form',
    rollout: SEQUENTIAL,
    training: { trainer: 'ppo', rewards: 'otc-ppo' },
  },
  {
    // Search-R1 with a reward per search turn, trained by PPO.
    name: 'stepsearch',
    title: 'StepSearch',
    source: 'StepSearch, arXiv 2505.15107',
    paperName: 'StepSearch',
    rollout: SEQUENTIAL,
    training: { trainer: 'ppo', rewards: 'stepsearch' },
  },
  {
    // The same rewards with GRPO: turn rewards become advantages of the turn's tokens.
    name: 'stepsearch:grpo',
    title: 'StepSearch, GRPO',
    source: 'StepSearch, arXiv 2505.15107; turn-level advantages of MT-GRPO, arXiv 2505.11821',
    rollout: SEQUENTIAL,
    training: { trainer: 'grpo', rewards: 'stepsearch' },
  },
  zeroSearchSimulator,
  {
    // Search-R1 trained with a simulated search engine.
    name: 'zerosearch',
    title: 'ZeroSearch',
    source: ZEROSEARCH_PAPER,
    paperName: 'ZeroSearch',
    rollout: SEQUENTIAL,
    training: { trainer: 'zerosearch', rewards: 'f1' },
  },
  {
    name: 'search-r1:ppo',
    title: 'Search-R1, PPO',
    source: SEARCH_R1_PAPER,
    rollout: SEQUENTIAL,
    training: { trainer: 'ppo', rewards: 'search-r1' },
  },
  {
    name: 'parallelsearch:ppo',
    title: 'ParallelSearch, PPO',
    source: PARALLELSEARCH_PAPER,
    rollout: PARALLEL,
    training: { trainer: 'ppo', rewards: 'paper' },
  },
  {
    // With the rewards of the authors' released code, which depart from the equations.
    name: 'parallelsearch:released-code',
    title: 'ParallelSearch, released code',
    source: PARALLELSEARCH_PAPER,
    rollout: PARALLEL,
    training: { trainer: 'grpo', rewards: 'authors-code' },
  },
];

/**
 * RAG-R1 in its multi-query mode: several queries in a search by the prompt alone, the
 * outcome reward, PPO. From the authors' code (github.com/inclusionAI/AWorld-RL,
 * `RAG-R1`: `train_ppo_mq.sh`, `hotpotqa_search_mq.py`, `generation_mq.py`).
 *
 * As there: prompt, commas between queries, JSON that labels each query's documents, and
 * documents cut for each query.
 *
 * Departures:
 * 1. A query's part of the turn's limit is its `max_obs_length`, 1,000 tokens there.
 * 2. Tags inside passages are escaped. A search without a query is no action, there it
 *    finds nothing. The notice after it contains no tags.
 * 3. The small world's models read `##` and lines of passages, the only form that they
 *    have learned, and the short prompt of ParallelSearch.
 * 4. No supervised stage of its own before RL.
 * 5. Six search turns as all methods here, five in the script. Queries beyond three run
 *    (at most 8 a turn), as in the code.
 */
const RAG_R1: Method = {
  name: 'rag-r1',
  title: 'RAG-R1',
  source: 'RAG-R1, arXiv 2507.02962, multi-query mode; authors’ code',
  rollout: {
    prompt: 'rag-r1',
    splitQueries: true,
    querySeparator: ',',
    informationForm: 'json',
    informationCut: 'query',
  },
  smallWorldRollout: { querySeparator: '##', informationForm: 'lines' },
  training: { trainer: 'ppo', rewards: 'search-r1' },
};

/** Methods of later papers, compared in the experiment `baselines`. */
export const COMPARED_LATER: readonly Method[] = [
  {
    ...RAG_R1,
    name: 'rag-r1:grpo',
    title: 'RAG-R1, GRPO',
    training: { trainer: 'grpo', rewards: 'search-r1' },
  },
  {
    name: 'search-r1:format',
    title: 'Search-R1, format reward',
    source: 'Search-R1’s later study (Jin et al. 2025), arXiv 2505.15117; authors’ code, v0.3',
    rollout: SEQUENTIAL,
    training: { trainer: 'grpo', rewards: 'search-r1-format' },
  },
];

const COMPARED: readonly Method[] = [
  {
    // Its prompt, the outcome reward, one query per search.
    name: 'search-r1',
    title: 'Search-R1',
    source: SEARCH_R1_PAPER,
    paperName: 'Search-R1',
    rollout: SEQUENTIAL,
    training: { trainer: 'grpo', rewards: 'search-r1' },
  },
  {
    // The four turns of the authors' code: too few for questions about five entities.
    name: 'search-r1:b4',
    title: 'Search-R1, four search turns',
    source: SEARCH_R1_PAPER,
    rollout: { ...SEQUENTIAL, maxSearchTurns: 4 },
    training: { trainer: 'grpo', rewards: 'search-r1' },
  },
  {
    // Search-R1's weights with the parallel prompt: the effect of the prompt alone.
    name: 'search-r1-parallel-prompt',
    title: 'Search-R1 + parallel prompt',
    source: `${PARALLELSEARCH_PAPER}, Table 3`,
    paperName: 'Search-R1+Parallel Prompt',
    rollout: PARALLEL,
    training: { weightsFrom: 'search-r1' },
  },
  {
    // The parallel prompt and the rewards of Eq. 3 to 7.
    name: 'parallelsearch',
    title: 'ParallelSearch',
    source: PARALLELSEARCH_PAPER,
    paperName: 'ParallelSearch',
    rollout: PARALLEL,
    training: { trainer: 'grpo', rewards: 'paper' },
  },
];

/** In the main comparison. */
export const MAIN_METHODS: readonly Method[] = [...WITHOUT_TRAINING, ...COMPARED];

export const METHODS = createRegistry<Method>(
  'method',
  [...WITHOUT_TRAINING, DEMONSTRATIONS, ...BASELINES, RAG_R1, ...COMPARED_LATER, ...COMPARED],
  { onAdd: ({ prompt }) => prompt && PROMPTS.add(prompt) },
);

/** A method's name in a configuration or a file. */
export const methodNameSchema = nameSchema(METHODS);

/** The title of a method; an unknown name is returned as is. */
export const methodTitle = (name: string): string =>
  METHODS.has(name) ? METHODS.get(name).title : name;

/**
 * How a policy answers by a method: as it was trained if that was by this method, else
 * with the method's prompt, within the limits of its training or of its model. Models of
 * the small world have a short prompt and short turns (the defaults).
 * @param options.trained the configuration that the policy was trained with
 * @param options.changes override everything else
 * @throws RangeError for an unknown method
 */
export function resolveRollout(
  method: string,
  model: 'small-world' | Parameters<typeof modelLimits>[0],
  options: { trained?: { method: string; rollout: RolloutConfig } | null; changes?: object } = {},
): RolloutConfig {
  const { trained, changes } = options;
  const { rollout, smallWorldRollout } = METHODS.get(method);
  const isAsTrained = trained?.method === method;
  const presets =
    model === 'small-world'
      ? { ...rollout, ...smallWorldRollout }
      : { ...(trained?.rollout ?? modelLimits(model)), ...rollout };
  return rolloutSchema.parse({ ...(isAsTrained ? trained.rollout : presets), ...changes });
}

/** The rewards that a method is trained with; undefined if it is not trained. */
export function rewardPreset(name: string): RewardPresetName | undefined {
  const { training } = METHODS.get(name);
  return training && 'rewards' in training ? training.rewards : undefined;
}

/** Names of the trained methods, each with weights of its own. */
export const trainedMethods = (): string[] =>
  METHODS.all().flatMap(({ name, training }) => (training && 'trainer' in training ? [name] : []));

/**
 * The method whose training produced a method's weights; null for the initial model.
 * @throws RangeError for an unknown method
 */
export function trainedBy(name: string): string | null {
  const { training } = METHODS.get(name);
  if (!training) return null;
  return 'weightsFrom' in training ? training.weightsFrom : name;
}
