/** Vega-Lite specifications as charts with a title and a text alternative. */
import { listColumns, type Row } from '../frame.js';
import type { TableCells } from '../table-formats.js';

/** A Vega-Lite specification that versions 5 (JupyterLab 4) and 6 both support. */
export type VegaLiteSpec = Record<string, unknown>;

/** An encoding channel, as far as this package reads it. */
export interface Channel {
  field?: string;
  title?: unknown;
  type?: string;
  axis?: object;
  sort?: unknown;
  legend?: object | null;
  scale?: { domain: string[]; range: unknown[] };
}

export interface View {
  width?: unknown;
  height?: unknown;
  transform?: object[];
  mark?: { type?: string };
  encoding?: Partial<Record<'x' | 'y' | 'yOffset' | 'color' | 'strokeDash' | 'detail', Channel>>;
  layer?: View[];
}

/** A specification as far as this package changes it for a reader. */
export interface DrawnSpec extends View {
  title?: { text?: unknown; subtitle?: unknown };
  data?: { values?: Readonly<Record<string, unknown>>[] };
  config?: { legend?: object; axis?: object };
  facet?: Channel & { row?: Channel; column?: Channel };
  spec?: View;
}

export interface Chart {
  kind: 'chart';
  title: string;
  /** The content in words, for readers who cannot see the chart. */
  alt: string;
  spec: VegaLiteSpec;
}

const SCHEMA = 'https://vega.github.io/schema/vega-lite/v5.json';

const CONFIG = {
  background: 'transparent',
  font: 'system-ui, sans-serif',
  view: { stroke: null },
  axis: { labelFontSize: 11, titleFontSize: 12, gridOpacity: 0.6, titleFontWeight: 'normal' },
  legend: { labelFontSize: 12, titleFontSize: 12, labelLimit: 260, titleLimit: 260 },
  header: { labelFontSize: 12, labelFontWeight: 'bold', title: null },
};

/**
 * Makes a chart of a specification. The title goes into the drawing, the text alternative
 * into its description.
 * @throws Error if a title, the text alternative, an axis title or a unit is missing
 */
export function createChart(chart: Omit<Chart, 'kind'> & { subtitle?: string }): Chart {
  const { title, subtitle, alt, spec } = chart;
  const missing = missingTexts({ title, alt, spec });
  if (missing.length > 0)
    throw new Error(`Expected the chart "${title}" to have ${missing.join(', ')}.`);
  const heading = {
    text: title,
    anchor: 'start',
    fontSize: 14,
    offset: 12,
    ...(subtitle && { subtitle, subtitleFontSize: 11 }),
  };
  const texts = { $schema: SCHEMA, title: heading, description: alt };
  return { kind: 'chart', title, alt, spec: { ...texts, config: CONFIG, ...spec } };
}

/** The texts that a chart lacks. Layers share an axis, so one of them must name it. */
function missingTexts({ title, alt, spec }: Omit<Chart, 'kind'>): string[] {
  const missing: string[] = [];
  if (title.trim() === '') missing.push('a title');
  if (alt.trim() === '' || alt.trim() === title.trim())
    missing.push('a text alternative that differs from the title');
  const encodings = valuesUnder('encoding', spec) as Record<string, VegaLiteSpec | undefined>[];
  for (const channel of ['x', 'y']) {
    const axes = encodings.flatMap(({ [channel]: axis }) =>
      axis && 'field' in axis ? [axis] : [],
    );
    const titled = axes.flatMap(({ type, title: lines }) => {
      const name = [lines].flat().join(' ').trim();
      return name === '' ? [] : [{ type, name }];
    });
    if (axes.length > 0 && titled.length === 0) missing.push(`a title of the ${channel} axis`);
    for (const { type, name } of titled)
      if (type === 'quantitative' && !/\(.+\)$/.test(name))
        missing.push(`a unit at the end of the ${channel} axis title, "${name} (unit)"`);
  }
  return [...new Set(missing)];
}

/** All values of a key anywhere in a specification, except within its data. */
export function valuesUnder(key: string, spec: unknown): unknown[] {
  if (typeof spec !== 'object' || spec === null) return [];
  return Object.entries(spec).flatMap(([name, inner]: [string, unknown]) => {
    if (name === key) return [inner];
    return name === 'data' ? [] : valuesUnder(key, inner);
  });
}

/** Wraps any Vega-Lite specification as a chart, unchecked. */
export function wrapSpec(spec: VegaLiteSpec): Chart {
  const { text = spec.title } = (spec.title ?? {}) as { text?: unknown };
  const title = typeof text === 'string' ? text : 'Chart';
  const alt = typeof spec.description === 'string' ? spec.description : title;
  return { kind: 'chart', title, alt, spec: { $schema: SCHEMA, ...spec } };
}

/** The data of a chart as a table, in full precision; those of several views once. */
export function chartData(spec: VegaLiteSpec, caption: string): TableCells {
  // Altair lists data by name at the top level.
  const { datasets } = spec as { datasets?: Record<string, unknown[] | undefined> };
  const sources = valuesUnder('data', spec) as ({ values?: unknown[]; name?: string } | null)[];
  const lists = sources.map((data) => data?.values ?? datasets?.[data?.name ?? ''] ?? []);
  const distinct = new Map(lists.map((values) => [JSON.stringify(values), values])).values();
  const rows = [...distinct]
    .flat()
    // Vega-Lite calls the field of a bare value `data`.
    .map((value) => (typeof value === 'object' && value !== null ? value : { data: value }) as Row);
  const columns = listColumns(rows);
  const text = (value: unknown): string =>
    typeof value === 'string' ? value : JSON.stringify(value);
  const cells = rows.map((row) => columns.map((c) => text(row[c] ?? '')));
  return { caption, columns, rows: cells, exact: cells };
}
