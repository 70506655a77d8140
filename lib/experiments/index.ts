/** `parallelsearch/experiments`: what reports read, and what an experiment is made of. */
export { EXPERIMENTS } from './list.js';
export { computation, type Computation, type Experiment, type Job } from './experiment.js';
export { requireResults } from './results.js';
export { loadAnswerFiles } from './answer-files.js';
export { loadMainResults, type MainResults } from './main-results.js';
export { loadLambdaAblation, type LambdaAblation } from './lambda-ablation.js';
export { tradeOffChart } from './trade-off-chart.js';
export { loadTopK, type TopK } from './top-k.js';
export { loadLatency, type LatencyResults } from './latency/experiment.js';
export { loadParallelVsSequential, type ParallelVsSequential } from './parallel-vs-sequential.js';
export { loadDecomposition, type Decomposition } from './decomposition.js';
export { loadBaselines, type Baselines } from './baselines.js';
export { loadRealModel, type RealCase } from './real-model/experiment.js';
export { loadScale, type ScaleResults } from './scale/experiment.js';
export { caseAddress, loadFailures, FAILURES, type Failures } from './failures.js';
export { firstSearches, type FirstSearch } from './first-search.js';
export { loadResult } from './result.js';
