/** A made-up report with everything that reports can contain. */
import { summariseResults } from '../../lib/evaluation/table.js';
import type { CodeCell, Notebook } from '../../lib/notebook/nbformat.js';
import { intervalChart, lineChart } from '../../lib/report/charts/chart.js';
import { trainingRows } from '../../lib/report/training-rows.js';
import { type Chart } from '../../lib/report/charts/spec.js';
import {
  mimeBundle,
  finding,
  createResults,
  type Displayable,
  type ReportResults,
} from '../../lib/report/display.js';
import { createFrame, toRows, type Frame, type Row } from '../../lib/report/frame.js';
import { figure, interval, table, type Table } from '../../lib/report/table.js';
import { syntheticCurves, syntheticResults } from '../experiments/synthetic.js';
import { code, markdown, notebookOf } from '../notebook/notebooks.js';

/** The rows of a frame that satisfy a condition. */
export const where = (frame: Frame, holds: (row: Row) => boolean): Frame =>
  frame.query(toRows(frame).map(holds));

/** Three methods are enough for every kind of row, and pages stay small. */
const METHODS = ['r1', 'search-r1', 'parallelsearch'];

/** Few questions of each type, few resamples. */
export function syntheticReport(): ReportResults {
  const provenance = { seeds: [1, 2], commit: '<0000000>', recorded: false };
  const predictions = [{ prediction: 'It is <better>', found: '0.1 [0.0, 0.2]', holds: true }];
  const answers = syntheticResults({ perTemplate: 8, warmUps: 2, methods: METHODS });
  const tidy = summariseResults(answers, { resamples: 20, provenance, paper: () => 0.5 });
  return createResults({ ...tidy, finding: '', predictions, summary: 'Some answers.' });
}

export function syntheticChart({ rows }: ReportResults, metric = 'em'): Chart {
  const some = where(rows, (row) => row.metric === metric && row.subset === 'all');
  const axes = { x: 'benchmark', color: 'method', row: 'model' };
  return intervalChart(some, { title: `A chart of ${metric}`, ...axes });
}

export function syntheticTable({ rows }: ReportResults): Table {
  const some = where(rows, ({ metric, subset }) => metric === 'em' && subset === 'all');
  const cells = { paper: figure('paper'), 'here [95 %]': interval };
  const fields = { rows: ['benchmark', 'model'], columns: ['method'] };
  return table(some, { caption: 'A <table>', ...fields, cells });
}

/** A code cell that has shown `items`. */
export async function shown(id: string, ...items: Displayable[]): Promise<CodeCell> {
  const cell = { ...(code(`show("${id}", "<&>");`) as CodeCell), id };
  for (const item of items)
    cell.outputs.push({ output_type: 'display_data', data: await mimeBundle(item), metadata: {} });
  return cell;
}

export async function syntheticNotebook(report = syntheticReport()): Promise<Notebook> {
  const log = code('console.log("done")') as CodeCell;
  const text = 'A long line of a log. '.repeat(20);
  log.outputs.push({ output_type: 'stream', name: 'stderr', text });
  const curves = createFrame(trainingRows(syntheticCurves({ steps: 20, seeds: 2 }), ['reward']));
  const axes = { x: 'step', color: 'method', column: 'model' };
  const training = lineChart(curves, { title: 'Training', ...axes });
  return notebookOf(
    markdown('# A report\n\nWith *everything* in it, and [a link](https://example.org).'),
    await shown('load', report),
    markdown('## Charts\n\n- one\n- two'),
    await shown('em-chart', syntheticChart(report)),
    await shown('calls', syntheticChart(report, 'model_calls'), syntheticChart(report, 'turns')),
    markdown('### Over training'),
    await shown('curves', training),
    markdown('## Tables\n\n> `code` in a quotation'),
    await shown('main-table', syntheticTable(report), finding('ParallelSearch is ahead.')),
    await shown('frame', report.rows.head(3)),
    log,
  );
}
