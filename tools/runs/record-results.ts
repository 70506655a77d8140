/** Stores this machine's results in `data/results`: `npm start -- --record`. */
import type { Experiment } from '../../lib/experiments/experiment.js';
import { EXPERIMENTS } from '../../lib/experiments/list.js';
import { readRecords, RECORDED, RESULTS } from '../../lib/experiments/running/records.js';
import { writeArchives } from '../../lib/io/records.js';
import { asScript } from '../../lib/io/scripts.js';

/**
 * Copies this machine's records to the repository's, whose other records are kept.
 * @throws Error naming a job without a record
 */
export async function recordResults(
  experiment: Experiment,
  { folder = RESULTS, into = RECORDED } = {},
): Promise<void> {
  const records = await readRecords(experiment, folder, into);
  const missing = records.find(({ done }) => !done);
  if (missing)
    throw new Error(
      `Expected a result of ${missing.job.key}. Run "npx parallelsearch experiment ${experiment.name}".`,
    );
  const written = records.flatMap(({ job, done }) => {
    const { hash, provenance, value } = done!.record;
    return done!.isOwn ? [[job.key, { hash, provenance, value }] as const] : [];
  });
  await writeArchives(into, experiment.name, new Map(written));
}

asScript(import.meta.url, async () => {
  for (const experiment of EXPERIMENTS) if (experiment.computation) await recordResults(experiment);
});
