/** Writes charts and tables as files for a paper. */
import path from 'node:path';
import { makeFolder, writeFileSafely, writeJson } from '../io/files.js';
import { writePicture, renderSvg } from './charts/render.js';
import { chartData, wrapSpec, type Chart, type VegaLiteSpec } from './charts/spec.js';
import { type TableCells, TABLE_FORMATS, tableCsv, type TableFormat } from './table-formats.js';

/** A chart or a table with the name of its files. */
export type Artefact =
  | { kind: 'chart'; name: string; spec: VegaLiteSpec }
  | { kind: 'table'; name: string; cells: TableCells };

/** File formats; the `csv` of a chart is its data. */
export const EXPORT_FORMATS = {
  table: ['csv', 'tex', 'md'],
  chart: ['csv', 'json', 'svg', 'pdf', 'png'],
} as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[Artefact['kind']][number];

/** Writes a chart or table in those of `formats` that it has. Returns the file names. */
export async function writeArtefact(
  artefact: Artefact,
  folder: string,
  formats: readonly ExportFormat[],
): Promise<string[]> {
  await makeFolder(folder);
  const supported: readonly ExportFormat[] = EXPORT_FORMATS[artefact.kind];
  const files: string[] = [];
  for (const format of formats.filter((one) => supported.includes(one))) {
    const file = path.join(folder, `${artefact.name}.${format === 'json' ? 'vl.json' : format}`);
    await writeAs(artefact, format, file);
    files.push(file);
  }
  return files;
}

/**
 * Writes a chart, or a Vega-Lite specification with inline data, as `.svg`, `.pdf` or
 * `.png` (both need Chromium), `.csv` (its data) or `.json`.
 * @throws RangeError for another extension
 */
export async function writeChart(chart: Chart | VegaLiteSpec, file: string): Promise<void> {
  const { title: name, spec } =
    chart.kind === 'chart' ? (chart as Chart) : wrapSpec(chart as VegaLiteSpec);
  const format = EXPORT_FORMATS.chart.find((one) => path.extname(file) === `.${one}`);
  if (!format)
    throw new RangeError(
      `Expected a file ending in .${EXPORT_FORMATS.chart.join(', .')}, but got ${file}.`,
    );
  await makeFolder(path.dirname(file));
  await writeAs({ kind: 'chart', name, spec }, format, file);
}

async function writeAs(artefact: Artefact, format: ExportFormat, file: string): Promise<void> {
  const { name } = artefact;
  if (artefact.kind === 'table')
    return writeFileSafely(file, TABLE_FORMATS[format as TableFormat].print(artefact.cells, name));
  const { spec } = artefact;
  if (format === 'csv') return writeFileSafely(file, tableCsv(chartData(spec, name)));
  if (format === 'json') return writeJson(file, spec);
  const svg = await renderSvg({ title: name, spec });
  if (format === 'svg') return writeFileSafely(file, svg);
  await writePicture(svg, file);
}
