/** The charts and tables of a report page as files for a paper. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { writeFileSafely } from '../io/files.js';
import { writePicture } from './browser.js';
import type { TableCells } from '../html/cells.js';
import { chartData } from './chart-data.js';
import type { VegaLiteSpec } from './chart.js';
import { renderSvg } from './render.js';
import { TABLE_FORMATS, type TableFormat } from './table-formats.js';

/** A chart or a table with the name of its files. */
export type Artefact =
  { kind: 'chart'; name: string; spec: VegaLiteSpec } | { kind: 'table'; name: string; cells: TableCells };

/** Endings of files by what they can hold; of a chart, `csv` is the data behind it. */
export const EXPORT_FORMATS = {
  table: ['csv', 'tex', 'md'],
  chart: ['csv', 'json', 'svg', 'pdf', 'png'],
} as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[Artefact['kind']][number];

const BLOCK =
  /<script type="application\/json" data-(table|chart="[^"]*" data-name)="([^"]*)">([\s\S]*?)<\/script>/g;

/** All charts and tables of a report page, in its order; empty for a page that is none. */
export function readArtefacts(html: string): Artefact[] {
  return [...html.matchAll(BLOCK)].map(([, kind, name, json]) => {
    return kind === 'table'
      ? { kind, name, cells: JSON.parse(json) as TableCells }
      : { kind: 'chart', name, spec: JSON.parse(json) as VegaLiteSpec };
  });
}

/** Writes one chart or table into `folder` in those of the formats that it has. Returns the files' names. */
export async function writeArtefact(
  artefact: Artefact,
  folder: string,
  formats: readonly ExportFormat[],
): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const own = formats.filter((format) =>
    (EXPORT_FORMATS[artefact.kind] as readonly string[]).includes(format),
  );
  const files = own.map((format) => {
    const ending = format === 'json' ? 'vl.json' : format;
    return path.join(folder, `${artefact.name}.${ending}`);
  });
  for (const [i, format] of own.entries()) {
    if (artefact.kind === 'chart') await writeChart(artefact, format, files[i]);
    else
      await writeFileSafely(
        files[i],
        TABLE_FORMATS[format as TableFormat].print(artefact.cells, artefact.name),
      );
  }
  return files;
}

async function writeChart(
  { name, spec }: Extract<Artefact, { kind: 'chart' }>,
  format: ExportFormat,
  file: string,
): Promise<void> {
  if (format === 'csv') return writeFileSafely(file, TABLE_FORMATS.csv.print(chartData(spec, name), name));
  if (format === 'json') return writeFileSafely(file, `${JSON.stringify(spec, null, 2)}\n`);
  const svg = await renderSvg({ title: name, spec });
  if (format === 'svg') return writeFileSafely(file, svg);
  await writePicture(svg, file);
}
