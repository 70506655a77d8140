/** The public API on one page; `parallelsearch/report` and `parallelsearch/experiments` are two further ones. */

// text
export { createTokenizer, type Tokenizer } from './text/tokenizer.js';
export { exactMatch, tokenF1 } from './text/normalize.js';
export { buildPrompt } from './text/prompts.js';
export { createRandom, type Random } from './random.js';

// data: passages, questions with dependency graphs
export {
  findQuestion,
  passagesOf,
  questionShape,
  type Passage,
  type Question,
  type QuestionShape,
} from './data/question.js';
export { loadDataSet, readPassages, readQuestions } from './data/flashrag.js';

// retrieval
export type { RetrievedPassage, Retriever } from './retrieval/retriever.js';
export { createBm25Retriever } from './retrieval/bm25.js';
export { buildExactIndex } from './retrieval/exact.js';
export { buildHnswIndex } from './retrieval/hnsw.js';
export { createDenseRetriever, encodePassages } from './retrieval/dense.js';
export type { Encoder } from './retrieval/encoder.js';
export { loadEncoder } from './retrieval/encoder-file.js';
export { createRetriever, RETRIEVERS, type RetrieverKind } from './retrieval/retrievers.js';
export { retrievalRecall } from './retrieval/recall.js';
export { searchAll } from './retrieval/search.js';
export { createRemoteRetriever } from './retrieval/remote.js';
export { startRetrievalServer } from './retrieval/server.js';

// policy
export type { Generation, Policy, SamplingOptions } from './policy/policy.js';
export { LocalPolicy } from './policy/local-policy.js';
export { loadModel, saveModel, type Model } from './policy/model-folder.js';
export type { ModelConfig } from './policy/model-config.js';
export { describeBackend, useBackend, type BackendName } from './tensor/backend.js';

// rollout and rewards
export { rollOut, type RolloutOptions } from './rollout/rollout.js';
export { lossMask, responseText, tokenIds, type Segment, type Trajectory } from './rollout/trajectory.js';
export { decompositionReward } from './rewards/decomposition.js';
export { formatReward } from './rewards/format.js';
export { outcomeReward } from './rewards/outcome.js';
export { REWARD_PRESETS, rewardOptions } from './rewards/presets.js';
export { searchCountReward } from './rewards/search-count.js';
export { rewardInputFromTrajectory, rewardInputFromTranscript } from './rewards/input.js';
export { addReward, PAPER_REWARD, type Reward } from './rewards/reward.js';

// methods and training
export { METHODS, rolloutConfigOf, type Method } from './methods/index.js';
export { parseTrainConfig, trainingPreset, type TrainConfig } from './methods/config.js';
export { groupAdvantages, grpoLoss } from './training/grpo-loss.js';
export { runGrpo } from './training/run-grpo.js';
export { GrpoTrainer } from './training/trainer.js';

// evaluation
export { evaluatePolicy, measure, type EvaluateOptions } from './evaluation/evaluate.js';
export { meanMetrics } from './evaluation/metrics.js';
export type { Measurement, QuestionResult } from './evaluation/result.js';
export { summariseResults, type TidyContrast, type TidyRow } from './evaluation/table.js';

// the small world
export { loadPolicy, type PolicyRun } from './experiments/runs.js';
export { loadWorld, type World } from './experiments/world.js';
