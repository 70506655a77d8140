/** Synthetic results in the form that charts and tables take. */
import type { Results } from '../../lib/evaluation/load.js';
import { paperFigure } from '../../lib/experiments/paper.js';
import { summariseResults } from '../../lib/evaluation/table.js';
import type { CodeCell, Notebook } from '../../lib/notebook/nbformat.js';
import { callsChart, emChart, gapChart, trainingChart } from '../../lib/report/charts.js';
import { mimeBundle, type Displayable } from '../../lib/report/display.js';
import {
  behaviourTable,
  claimsTable,
  gapTable,
  mainTable,
} from '../../lib/experiments/main-results/tables.js';
import { code, markdown, notebookOf } from '../notebook/notebooks.js';
import { syntheticCurves, syntheticResults } from '../evaluation/synthetic.js';

/** Small: a few questions of each kind, few resamples. */
export function syntheticSummary(): Results {
  const questions = syntheticResults({ perTemplate: 8, seeds: 2 });
  const provenance = { seeds: [1, 2], commit: '<0000000>', recorded: false };
  return {
    questions,
    curves: syntheticCurves(),
    tidy: summariseResults(questions, { resamples: 100, provenance, paper: paperFigure }),
  };
}

/** A code cell that has shown `items`. */
export async function shown(id: string, ...items: Displayable[]): Promise<CodeCell> {
  const cell = { ...(code(`show("${id}", "<&>");`) as CodeCell), id };
  for (const item of items)
    cell.outputs.push({ output_type: 'display_data', data: await mimeBundle(item), metadata: {} });
  return cell;
}

/** An executed notebook with everything that reports are made of. */
export async function syntheticNotebook(results: Results = syntheticSummary()): Promise<Notebook> {
  const log = code('console.log("done")') as CodeCell;
  log.outputs.push({ output_type: 'stream', name: 'stderr', text: 'A long line of a log. '.repeat(20) });
  return notebookOf(
    markdown('# A report\n\nWith *everything* in it, and [a link](https://example.org).'),
    await shown('load', results),
    markdown('## Charts\n\n- one\n- two'),
    await shown('em-chart', emChart(results)),
    await shown('calls', callsChart(results), gapChart(results)),
    markdown('### Over training'),
    await shown('curves', trainingChart(results, 'reward'), trainingChart(results, 'kl')),
    markdown('## Tables\n\n> `code` in a quotation'),
    await shown('claims', claimsTable(results), gapTable(results)),
    await shown('main-table', mainTable(results, 'base')),
    await shown('behaviour', behaviourTable(results, 'parallelizable')),
    log,
  );
}
