/** The script of the pages of runs; each part of it waits for its elements. */
import '../../html/browser/report.js';
import { startCurves } from './curves.js';
import { keepLive } from './live.js';
import { startRollouts } from './rollouts.js';
import { startRuns } from './runs.js';

/** Also after a live page has replaced its content. */
async function start(): Promise<void> {
  startRollouts();
  await startCurves(startRuns((names) => void startCurves(names)));
}

void start();
keepLive(start);
