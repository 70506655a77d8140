/**
 * `parallelsearch/experiments`: results for notebooks, and what an experiment is made of.
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
export { loadAnswerFiles } from './answer-files.js';
export { loadResult } from './result.js';
export { loadFailureCases, FAILURES } from './failures.js';
export { firstSearches, type FirstSearch } from './first-search.js';
