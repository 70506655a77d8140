/** The charts and tables of a report page as files for a paper. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { writeFileSafely } from '../io/files.js';
import { writePicture, renderSvg } from './render.js';
import { type TableCells, TABLE_FORMATS, tableCsv, type TableFormat } from '../html/table.js';
import { chartData, chartOfSpec, type Chart, type VegaLiteSpec } from './chart.js';

/** A chart or a table with the name of its files. */
export type Artefact =
  | { kind: 'chart'; name: string; spec: VegaLiteSpec }
  | { kind: 'table'; name: string; cells: TableCells };

/** Endings of files by what they can hold; of a chart, `csv` is the data behind it. */
export const EXPORT_FORMATS = {
  table: ['csv', 'tex', 'md'],
  chart: ['csv', 'json', 'svg', 'pdf', 'png'],
} as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[Artefact['kind']][number];

/**
 * Writes one chart or table into `folder` in those of the formats that it has. Returns
 * the files' names.
 */
export async function writeArtefact(
  artefact: Artefact,
  folder: string,
  formats: readonly ExportFormat[],
): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const known: readonly ExportFormat[] = EXPORT_FORMATS[artefact.kind];
  const files: string[] = [];
  for (const format of formats.filter((wanted) => known.includes(wanted))) {
    const file = path.join(folder, `${artefact.name}.${format === 'json' ? 'vl.json' : format}`);
    await writeAs(artefact, format, file);
    files.push(file);
  }
  return files;
}

/**
 * Writes a chart, or any Vega-Lite specification with its data inside, as `.svg`,
 * `.pdf` or `.png` (both by Chromium), `.csv` (its data) or `.json`.
 * @throws RangeError for another ending
 */
export async function writeChart(chart: Chart | VegaLiteSpec, file: string): Promise<void> {
  const { title: name, spec } =
    chart.kind === 'chart' ? (chart as Chart) : chartOfSpec(chart as VegaLiteSpec);
  const format = EXPORT_FORMATS.chart.find((known) => path.extname(file) === `.${known}`);
  if (!format)
    throw new RangeError(
      `Expected a file that ends in .${EXPORT_FORMATS.chart.join(', .')}, but got ${file}.`,
    );
  await mkdir(path.dirname(file), { recursive: true });
  await writeAs({ kind: 'chart', name, spec }, format, file);
}

async function writeAs(artefact: Artefact, format: ExportFormat, file: string): Promise<void> {
  const { name } = artefact;
  if (artefact.kind === 'table')
    return writeFileSafely(file, TABLE_FORMATS[format as TableFormat].print(artefact.cells, name));
  const { spec } = artefact;
  if (format === 'csv') return writeFileSafely(file, tableCsv(chartData(spec, name)));
  if (format === 'json') return writeFileSafely(file, `${JSON.stringify(spec, null, 2)}\n`);
  const svg = await renderSvg({ title: name, spec });
  if (format === 'svg') return writeFileSafely(file, svg);
  await writePicture(svg, file);
}
