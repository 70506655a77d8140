/**
 * `parallelsearch/experiments`: results for notebooks, and the parts of an experiment.
 */
export { EXPERIMENTS } from './list.js';
export {
  computation,
  type Computation,
  type Experiment,
  type Job,
  type ResultParts,
} from './experiment.js';
export { requireResults } from './records.js';
export { loadAnswerFiles, loadResult } from './result-file.js';
export { loadFailureCases, FAILURES, type FailureCase } from './failures.js';
export { firstSearches, type FirstSearch } from './first-search.js';
