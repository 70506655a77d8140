/** The public API on one page. */
export type { QuestionResult } from './evaluation/result.js';
export { loadResults, type CurvePoint, type Results } from './evaluation/load.js';
export { METRICS, meanMetrics, type Metric, type Selection } from './evaluation/metrics.js';
export {
  summariseResults,
  type Provenance,
  type SummaryOptions,
  type TidyContrast,
  type TidyResults,
  type TidyRow,
} from './evaluation/table.js';
export { NotebookError, runNotebook, type RunOptions, type RunResult } from './notebook/runner.js';
export type { Chart, VegaLiteSpec } from './report/chart.js';
export { callsChart, emChart, gapChart, trainingChart } from './report/charts.js';
export { display, type Displayable } from './report/display.js';
export { exportReport, writeIndex, type ExportedReport, type ExportOptions } from './report/export.js';
export { tableOf, type Table } from './report/frame.js';
export { renderSvg } from './report/render.js';
export {
  behaviourTable,
  callsTable,
  claimsOf,
  claimsTable,
  gapTable,
  mainTable,
  subsetTable,
  type Claim,
} from './report/tables.js';
