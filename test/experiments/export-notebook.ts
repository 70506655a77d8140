/** The repository's notebooks, exported from made-up results. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Parameters } from '../../lib/notebook/parameters.js';
import { exportReport } from '../../lib/pages/notebook/reports.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Executes a notebook through the real kernel and exports its report under the
 * notebook's name without its number.
 * @param name such as `01-main-results`
 */
export async function exportNotebook(
  name: string,
  outDir: string,
  parameters: Parameters,
): Promise<string> {
  if (!existsSync(path.join(root, 'dist', 'index.js')))
    throw new Error('Notebooks import dist/. Run "npm run build" first.');
  return exportReport({
    notebook: path.join(root, 'notebooks', `${name}.ipynb`),
    name: name.replace(/^\d+-/, ''),
    outDir,
    parameters,
    log: () => undefined,
  });
}
