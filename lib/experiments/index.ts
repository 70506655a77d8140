/** `parallelsearch/experiments`: what reports read. */
export { loadMainResults, type MainResults } from './main-results/experiment.js';
