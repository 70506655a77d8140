/** `parallelsearch/experiments`: what reports read. */
export { loadMainResults, type MainResults } from './main-results/experiment.js';
export { loadLambdaAblation, type LambdaAblation } from './lambda-ablation/experiment.js';
export { tradeOffChart } from './lambda-ablation/figures.js';
export { loadTopK, type TopK } from './top-k/experiment.js';
export { loadLatency, type LatencyResults } from './latency/experiment.js';
export { timePartsChart } from './latency/figures.js';
