/**
 * `parallelsearch`: everything needed to run, train and evaluate a policy that searches.
 */

// text and data
export { createTokenizer, type Tokenizer } from './text/tokenizer/tokenizer.js';
export { exactMatch, tokenF1 } from './text/answer-match.js';
export { PROMPTS, type Prompt } from './text/prompts.js';
export { createPassages, type Passage } from './data/passage.js';
export {
  findQuestion,
  graphQuestionType,
  type Question,
  type QuestionType,
} from './data/question.js';
export { questionSchema, readPassages, readQuestions } from './data/flashrag.js';
export { loadWorld, type World } from './retrieval/small-world.js';
export { createRandom, type Random } from './random.js';

// retrieval
export type { RetrievedPassage, Retriever } from './retrieval/retriever.js';
export { createRetriever, RETRIEVERS, type RetrieverKind } from './retrieval/retrievers.js';
export { createBm25Retriever } from './retrieval/bm25.js';
export { createDenseRetriever, encodePassages } from './retrieval/dense.js';
export { buildExactIndex } from './retrieval/exact.js';
export { buildHnswIndex, loadHnswIndex } from './retrieval/hnsw.js';
export type { Encoder } from './retrieval/encoder.js';
export { loadEncoder } from './retrieval/encoder.js';
export { startRetrievalServer } from './retrieval/server.js';

// policy
export type { Generation, Policy, SamplingOptions } from './policy/policy.js';
export { LocalPolicy } from './policy/local-policy.js';
export { loadLocalPolicy } from './policy/folders/model-folder.js';
export { openRemotePolicy, POLICY_KINDS } from './policy/api/remote.js';
export { openChatPolicy, type OpenAiChatOptions } from './policy/api/openai/chat.js';
export { textPolicy, toolPolicy } from './policy/chat-policy.js';
export type {
  AnyPolicy,
  ChatPolicy,
  Reply,
  ReplyOptions,
  TokenUsage,
} from './policy/chat-policy.js';
export type { AssistantMessage, Message, Tool } from './text/messages.js';
export { FAMILIES, type ModelFamily } from './policy/model/families.js';
export { loadModel, saveModel } from './policy/folders/model-folder.js';
export type { Model } from './policy/model/model.js';
export { loadPolicy } from './experiments/running/policy-runs.js';
export { describeBackend, useBackend } from './tensor/backend.js';

// rollout
export type { RolloutOptions } from './rollout/options.js';
export { rollOut } from './rollout/rollout.js';
export { parseTrajectory, trajectorySchema } from './rollout/recorded.js';
export { createSearchAgent, type AgentEvent, type SearchAgent } from './rollout/search-agent.js';
export {
  lossMask,
  responseText,
  tokenIds,
  type Segment,
  type Trajectory,
  type RewardComponents,
} from './rollout/trajectory.js';

// rewards
export {
  scoreRollout,
  type Reward,
  type TurnReward,
  scoringInput,
  scoringInputFromTranscript,
  type ScoringInput,
} from './rewards/reward.js';
export { REWARD_PRESETS, presetRewards } from './rewards/presets.js';
export { loadRewards } from './training/reward-files.js';

// methods and training
export { METHODS, resolveRollout, type Method } from './training/methods.js';
export { parseTrainConfig, trainConfigSchema, type TrainConfig } from './training/config.js';
export { trainingPreset } from './training/presets.js';
export { groupAdvantages } from './training/advantages.js';
export { grpoLoss } from './training/grpo.js';
export {
  importanceSampling,
  importanceWeights,
  samplingMetrics,
} from './training/importance-sampling.js';
export { createTrainer } from './training/trainers.js';
export type { Trainer, TrainingTask } from './training/trainer.js';
export { runTraining, type TrainingRun } from './training/run.js';

// evaluation
export { evaluatePolicy, type EvaluateOptions } from './evaluation/evaluate.js';
export { measure, type QuestionResult } from './evaluation/measurement.js';
export {
  BEHAVIOURS,
  behaviourMeasures,
  behaviourShares,
  labelTrajectory,
  type Behaviour,
  type BehaviourLabel,
} from './evaluation/behaviour.js';
export { METRICS, meanMetrics } from './evaluation/metrics.js';
export { summariseResults, type TidyResults } from './evaluation/table.js';
export { outcomeReward } from './rewards/parallelsearch.js';
