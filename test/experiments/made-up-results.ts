/** Made-up results. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ExperimentResult } from '../../lib/experiments/experiment.js';
import type { ReportInfo } from '../../lib/pages/notebook/reports.js';
import type { Chart } from '../../lib/report/charts/spec.js';

export const chart: Chart = {
  kind: 'chart',
  title: 'A chart',
  alt: 'What the chart shows.',
  spec: {
    data: { values: [{ a: 'x', b: 1 }] },
    mark: 'point',
    encoding: { y: { field: 'b', type: 'quantitative' } },
  },
};

/** ParallelSearch's lead over Search-R1 in exact match, on the average of benchmarks. */
export const lead = (model: string, value: number) => ({
  method: 'parallelsearch',
  against: 'search-r1',
  model,
  benchmark: 'average',
  subset: 'all',
  metric: 'em',
  kind: 'difference',
  value,
  low: value - 0.01,
  high: value + 0.01,
});

/** A result without rows, with one chart. */
export const emptyResult = (name: string): ExperimentResult => ({
  name,
  hash: '',
  finding: 'Nothing.',
  summary: '',
  predictions: [],
  rows: [],
  contrasts: [],
  frames: {},
  figures: { chart },
  card: {},
  provenance: {},
});

/** Writes a result and the description of its page. */
export function writeReport(folder: string, title: string, result: ExperimentResult): void {
  const { name } = result;
  const info: ReportInfo = { name, title, description: '', figures: [] };
  writeFileSync(path.join(folder, `${name}.page.json`), JSON.stringify(info));
  writeFileSync(path.join(folder, `${name}.json`), JSON.stringify(result));
}
