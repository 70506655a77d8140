/** `parallelsearch`: what it takes to run, train and evaluate a policy that searches, on one page. */

// text and data
export { createTokenizer, type Tokenizer } from './text/tokenizer.js';
export { exactMatch, tokenF1 } from './text/normalize.js';
export { PROMPTS, type Prompt } from './text/prompts.js';
export { findQuestion, passagesOf, questionShape } from './data/question.js';
export type { Passage, Question, QuestionShape } from './data/question.js';
export { readPassages, readQuestions } from './data/flashrag.js';
export { loadWorld, type World } from './experiments/world.js';
export { createRandom, type Random } from './random.js';

// retrieval
export type { RetrievedPassage, Retriever } from './retrieval/retriever.js';
export { createRetriever, RETRIEVERS, type RetrieverKind } from './retrieval/retrievers.js';
export { createBm25Retriever } from './retrieval/bm25.js';
export { createDenseRetriever, encodePassages } from './retrieval/dense.js';
export { buildExactIndex } from './retrieval/exact.js';
export { buildHnswIndex, loadHnswIndex } from './retrieval/hnsw.js';
export type { Encoder } from './retrieval/encoder.js';
export { loadEncoder } from './retrieval/encoder-file.js';
export { startRetrievalServer } from './retrieval/server.js';

// policy
export type { Generation, Policy, SamplingOptions } from './policy/policy.js';
export { LocalPolicy } from './policy/local-policy.js';
export { openPolicy, POLICY_KINDS, type PolicyKind } from './policy/policies.js';
export { FAMILIES, type ModelFamily } from './policy/families/index.js';
export { loadModel, saveModel, type Model } from './policy/model-folder.js';
export { loadPolicy } from './experiments/runs.js';
export { describeBackend, useBackend } from './tensor/backend.js';

// rollout
export { rollOut, type RolloutOptions } from './rollout/rollout.js';
export { lossMask, responseText, tokenIds, type Segment, type Trajectory } from './rollout/trajectory.js';

// rewards
export { rolloutFromTrajectory, rolloutFromTranscript, type Rollout } from './rewards/rollout.js';
export { scoreRollout, type Reward, type RewardComponents, type TurnReward } from './rewards/reward.js';
export { REWARD_PRESETS, rewardsOf } from './rewards/presets.js';
export { outcomeReward } from './rewards/outcome.js';
export { loadRewards } from './training/reward-files.js';

// methods and training
export { METHODS, rolloutConfigOf, type Method } from './methods/index.js';
export { parseTrainConfig, trainingPreset, type TrainConfig } from './methods/config.js';
export { groupAdvantages } from './training/advantages.js';
export { grpoLoss } from './training/grpo/loss.js';
export { GrpoTrainer } from './training/grpo/trainer.js';
export { TRAINERS } from './training/trainers.js';
export type { Trainer, TrainingTask } from './training/trainer.js';
export { runTraining, type TrainingRun } from './training/run.js';

// evaluation
export { evaluatePolicy, measure, type EvaluateOptions } from './evaluation/evaluate.js';
export type { QuestionResult } from './evaluation/result.js';
export { METRICS, meanMetrics } from './evaluation/metrics.js';
export { summariseResults, type TidyResults } from './evaluation/table.js';
export { NotebookError, runNotebook, type RunResult } from './notebook/runner.js';

// Reports and experiments; these go where `parallelsearch/report` and `parallelsearch/experiments` have them.
export { firstSearchProbabilities, type FirstSearch } from './experiments/first-steps/first-search.js';
export type { CurvePoint, Results } from './evaluation/load.js';
export { loadResults } from './experiments/results.js';
export { loadLatency, type LatencyResults } from './experiments/latency/measures.js';
export { loadTopK, type TopKResults } from './experiments/top-k/measures.js';
export { predictTime, questionMs, type Asking, type RequestCosts } from './experiments/latency/model.js';
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
