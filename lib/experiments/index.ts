/** `parallelsearch/experiments`: results for notebooks, parts of an experiment. */
export { EXPERIMENTS } from './list.js';
export { defineComputation, type Computation, type Experiment, type Job } from './experiment.js';
export type { ResultParts } from '../report/result.js';
export { requireResults } from './running/records.js';
export { loadResult } from './results/result-file.js';
export { loadAnswerFiles } from './results/own-answers.js';
export { loadFailureCases, FAILURES, type FailureCase } from './failures.js';
export { firstSearches, type FirstSearch } from '../training/first-search.js';
