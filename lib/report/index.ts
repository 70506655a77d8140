/** `parallelsearch/report`: data frames, tables, charts, sentences, pages. */
export { chartOf, type Chart, type VegaLiteSpec } from './chart.js';
export { bandChart, intervalChart, lineChart, type ChartSpec } from './chart.js';
export {
  display,
  finding,
  type Finding,
  resultsOf,
  transcriptOf,
  type Displayable,
  type ReportResults,
  type Transcript,
} from './display.js';
export { frameOf, rowsOf, type Frame, type Row, type Rows } from './frame.js';
export { metricInfo, type MetricInfo } from './titles.js';
export { writeChart } from './publication.js';
export { renderSvg } from './render.js';
export { stackedChart } from './chart.js';
export {
  figure,
  interval,
  plainTable,
  points,
  table,
  text,
  type CellFormat,
  type Table,
  type TableSpec,
} from './table.js';
export { listed } from '../text/listed.js';
export { figureText, intervalText, pointsIntervalText, pointsText } from './text.js';
export { titleOf } from './titles.js';
export { NotebookError, runNotebook, type RunResult } from '../notebook/runner.js';
