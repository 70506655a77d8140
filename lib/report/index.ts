/** `parallelsearch/report`: data frames, tables, charts and their display. */
export { formatList } from '../text/english.js';
export { intervalChart, lineChart, type ChartSpec } from './charts/chart.js';
export { stackedChart } from './charts/stacked.js';
export { createChart, type Chart, type VegaLiteSpec } from './charts/spec.js';
export {
  display,
  finding,
  createTranscript,
  type Displayable,
  type Finding,
  type ReportResults,
  type Transcript,
} from './display.js';
export { createFrame, toRows, type Frame, type Row, type Rows } from './frame.js';
export { writeChart } from './publication.js';
export { renderSvg } from './charts/render.js';
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
export { figureText, intervalText, pointsIntervalText, pointsText } from './text.js';
export { metricInfo, valueTitle, type MetricInfo } from './titles.js';
export { NotebookError, runNotebook, type RunResult } from '../notebook/runner.js';
