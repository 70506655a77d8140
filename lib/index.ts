/** The public API on one page. */

// text: tokenizer, tag grammar, answers, prompts
export { trainBpe, type BpeOptions } from './text/bpe.js';
export { createTokenizer, type Tokenizer } from './text/tokenizer.js';
export * from './text/tags.js';
export { exactMatch, normalizeAnswer, tokenF1 } from './text/normalize.js';
export { buildPrompt, PROMPTS, type Prompt } from './text/prompts.js';

// data: questions with dependency graphs, passages
export {
  findQuestion,
  graphDepth,
  independentSubQuestions,
  passagesOf,
  questionShape,
  type Passage,
  type Question,
  type QuestionGraph,
  type QuestionShape,
  type SubQuestion,
} from './data/question.js';
export { parsePassages, parseQuestions, readPassages, readQuestions } from './data/flashrag.js';

// retrieval
export type { RetrievedPassage, RetrieveOptions, Retriever } from './retrieval/retriever.js';
export { createBm25Retriever, type Bm25Options, type Bm25Retriever } from './retrieval/bm25.js';
export { buildExactIndex } from './retrieval/exact.js';
export { buildHnswIndex, loadHnswIndex, type HnswIndex } from './retrieval/hnsw.js';
export { createDenseRetriever, encodePassages } from './retrieval/dense.js';
export type { Encoder } from './retrieval/encoder.js';
export { loadEncoder } from './retrieval/encoder-file.js';
export { createRetriever, RETRIEVERS, type RetrieverKind } from './retrieval/retrievers.js';
export { retrievalRecall } from './retrieval/recall.js';
export { searchAll, type SearchOptions, type SearchOutcome } from './retrieval/search.js';
export { createRemoteRetriever } from './retrieval/remote.js';
export { startRetrievalServer } from './retrieval/server.js';

// policy
export type { Generation, Policy, SamplingOptions } from './policy/policy.js';
export { LocalPolicy } from './policy/local-policy.js';
export { openPolicy, POLICY_KINDS, type PolicyKind } from './policy/policies.js';
export { FAMILIES, type ModelFamily } from './policy/families/index.js';
export { loadModel, saveModel, type Model } from './policy/model-folder.js';
export type { ModelConfig } from './policy/model-config.js';
export { describeBackend, useBackend, type BackendName, type BackendReport } from './tensor/backend.js';

// rollout and rewards
export { rollOut, type RolloutOptions } from './rollout/rollout.js';
export { lossMask, responseText, tokenIds, type Segment, type Trajectory } from './rollout/trajectory.js';
export { decompositionReward } from './rewards/decomposition.js';
export { formatReward } from './rewards/format.js';
export { outcomeReward } from './rewards/outcome.js';
export { REWARD_PRESETS, rewardOptions, rewardsOf } from './rewards/presets.js';
export { searchCountReward } from './rewards/search-count.js';
export { scoreRollout, type Reward, type RewardComponents, type TurnReward } from './rewards/reward.js';
export { rolloutFromTrajectory, rolloutFromTranscript, type Rollout } from './rewards/rollout.js';
export type { RewardOptions } from './rewards/options.js';

// training
export { groupAdvantages } from './training/advantages.js';
export { grpoLoss } from './training/grpo/loss.js';
export { GrpoTrainer } from './training/grpo/trainer.js';
export { loadRewards } from './training/reward-files.js';
export { runTraining, type TrainingRun } from './training/run.js';
export type { Trainer, TrainingTask } from './training/trainer.js';
export { TRAINERS } from './training/trainers.js';
export { firstSearchProbabilities, type FirstSearch } from './experiments/first-steps/first-search.js';
export { createRandom, type Random } from './random.js';
export { METHODS, rolloutConfigOf, type Method } from './methods/index.js';
export { parseTrainConfig, trainingPreset, type TrainConfig } from './methods/config.js';
export { configHash } from './io/hash.js';
export { loadPolicy, type PolicyRun } from './experiments/runs.js';
export { loadWorld, type World } from './experiments/world.js';

// evaluation
export type { QuestionResult } from './evaluation/result.js';
export { evaluatePolicy, measure, type EvaluateOptions } from './evaluation/evaluate.js';
export type { CurvePoint, Results } from './evaluation/load.js';
export { loadResults } from './experiments/results.js';
export { loadLatency, type LatencyResults } from './experiments/latency/measures.js';
export { loadTopK, type TopKResults } from './experiments/top-k/measures.js';
export { predictTime, questionMs, type Asking, type RequestCosts } from './experiments/latency/model.js';
export { METRICS, meanMetrics, type Metric, type Selection } from './evaluation/metrics.js';
export {
  summariseResults,
  type Provenance,
  type SummaryOptions,
  type TidyContrast,
  type TidyResults,
  type TidyRow,
} from './evaluation/table.js';

// notebooks and reports
export { NotebookError, runNotebook, type RunOptions, type RunResult } from './notebook/runner.js';
export type { Chart, VegaLiteSpec } from './report/chart.js';
export {
  dynamicsChart,
  dynamicsTable,
  loadBaseVsInstruct,
  modelChart,
  modelGapTable,
  modelTable,
  type BaseVsInstruct,
} from './experiments/base-vs-instruct/figures.js';
export { callsChart, emChart, gapChart, trainingChart } from './report/charts.js';
export { PAPER_CLAIMS } from './experiments/claims.js';
export {
  benchmarkF1Table,
  decomposedChart,
  hybridTable,
  loadDecomposition,
  matchTable,
  missedNamesTable,
  namesTable,
  omissionsTable,
  parallelizingTable,
  rightWrongTable,
  wrongTable,
  type Decomposition,
} from './experiments/decomposition/figures.js';
export { display, type Displayable } from './report/display.js';
export {
  beforeAfterTable,
  firstSearchChart,
  lambdaChart,
  rewardTable,
  type Rollouts,
} from './experiments/first-steps/figures.js';
export { exportReport, writeIndex, type ExportedReport, type ExportOptions } from './experiments/export.js';
export { tableOf, type Table } from './report/frame.js';
export {
  concurrencyChart,
  questionTimeChart,
  timePartsChart,
  wallClockChart,
} from './experiments/latency/charts.js';
export {
  concurrencyTable,
  modelFitTable,
  questionTimeTable,
  requestCostTable,
  wallClockTable,
} from './experiments/latency/tables.js';
export {
  eachRewardTable,
  identicalRowsTable,
  lambdaContrastTable,
  lambdaTable,
  loadLambdaAblation,
  rewardAloneTable,
  type LambdaAblation,
} from './experiments/lambda-ablation/figures.js';
export {
  lambdaDynamicsChart,
  lambdaMetricChart,
  tradeOffChart,
} from './experiments/lambda-ablation/charts.js';
export { lambdaSpeedTable } from './experiments/lambda-ablation/speed.js';
export {
  distributionChart,
  gainTable,
  kindContrastTable,
  kindTable,
  lengthTable,
  loadParallelVsSequential,
  paperCostTable,
  sizesTable,
  type ParallelVsSequential,
} from './experiments/parallel-vs-sequential/figures.js';
export { readArtefacts, writeArtefact, type Artefact, type ExportFormat } from './report/publication.js';
export { renderSvg } from './report/render.js';
export {
  behaviourTable,
  callsTable,
  claimsOf,
  claimsTable,
  gapTable,
  mainTable,
  subsetTable,
  type Claim,
} from './experiments/main-results/tables.js';
export {
  recallChart,
  recallTable,
  roomTable,
  topKChart,
  topKGainTable,
  topKMethodTable,
  topKTable,
} from './experiments/top-k/figures.js';
export {
  judgeClaims,
  verdictOn,
  type JudgedClaim,
  type PaperClaim,
  type Verdict,
} from './experiments/verdicts.js';
export { transcriptOf, type Transcript } from './html/transcript.js';
