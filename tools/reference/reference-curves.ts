/** Bands over the recorded runs, for the pages of other runs. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { flatGroup } from 'd3-array';
import { readDescription, readSteps } from '../../lib/pages/run/folder.js';
import {
  incomparableSettings,
  initialModelKind,
  referenceBands,
  type Reference,
} from '../../lib/pages/run/reference.js';

/**
 * The references of all methods and kinds of initial models with enough recorded runs of
 * the preset.
 */
export async function makeReferences(checkpoints: string): Promise<Reference[]> {
  const folders = (await readdir(checkpoints)).sort().map((name) => join(checkpoints, name));
  const runs = await Promise.all(
    folders.map(async (folder) => {
      const run = await readDescription(folder);
      const steps = await readSteps(folder);
      const isUsual = run && incomparableSettings(run.config)?.length === 0 && steps.length > 0;
      const initialModel = run && initialModelKind(run.config.model);
      return isUsual && initialModel ? [{ method: run.config.method, initialModel, steps }] : [];
    }),
  );
  return flatGroup(
    runs.flat(),
    ({ method }) => method,
    ({ initialModel }) => initialModel,
  ).flatMap(([method, initialModel, members]) => {
    const bands = referenceBands(members.map(({ steps }) => steps));
    if (Object.keys(bands).length === 0) return [];
    return [{ method, initialModel, numRuns: members.length, bands }];
  });
}
