/**
 * What every chart shares, and what every chart must tell its readers: a title, named
 * axes with units, its content in words.
 */

import type { TableCells } from '../html/cells.js';

/**
 * A Vega-Lite specification as JSON; charts keep to what versions 5 (JupyterLab 4) and 6
 * both understand.
 */
export type VegaLiteSpec = Record<string, unknown>;

export interface Chart {
  kind: 'chart';
  title: string;
  /** What the chart shows, in words, for those who do not see it. */
  alt: string;
  spec: VegaLiteSpec;
}

const SCHEMA = 'https://vega.github.io/schema/vega-lite/v5.json';

/** Goes under the title of every chart of results of the embedded scale. */
export const SMALL_WORLD = 'Small world: levels cannot be compared with the paper’s';

/** What stands under a key anywhere in a specification, but not within its data. */
function under(key: string, spec: unknown): unknown[] {
  if (typeof spec !== 'object' || spec === null) return [];
  return Object.entries(spec).flatMap(([name, inner]: [string, unknown]) => {
    if (name === key) return [inner];
    return name === 'data' ? [] : under(key, inner);
  });
}

/**
 * What a chart fails to tell, as sentences that follow "Expected ...". Layers share an
 * axis, so that one of them must name it; the title of a quantity ends in its unit, in
 * parentheses.
 */
function complaintsAbout({ title, alt, spec }: Omit<Chart, 'kind'>): string[] {
  const complaints: string[] = [];
  if (title.trim() === '') complaints.push('a title');
  if (alt.trim() === '' || alt.trim() === title.trim())
    complaints.push('a text alternative that says more');
  const encodings = under('encoding', spec) as Record<string, VegaLiteSpec | undefined>[];
  for (const channel of ['x', 'y']) {
    const axes = encodings.flatMap(({ [channel]: axis }) =>
      axis && 'field' in axis ? [axis] : [],
    );
    const named = axes.filter(({ title: name }) => typeof name === 'string' && name.trim() !== '');
    if (axes.length > 0 && named.length === 0) complaints.push(`a title of the ${channel} axis`);
    for (const { type, title: name } of named)
      if (type === 'quantitative' && !/\(.+\)$/.test(name as string))
        complaints.push(
          `a unit in parentheses at the end of the ${channel} axis title "${name as string}"`,
        );
  }
  return [...new Set(complaints)];
}

/**
 * Makes a chart; title and subtitle go into the drawing and the alternative into its
 * description.
 * @throws Error naming what its readers would miss: a title, an axis title, a unit, the
 * text alternative
 */
export function chartOf({
  title,
  subtitle,
  alt,
  spec,
}: Omit<Chart, 'kind'> & { subtitle?: string }): Chart {
  const complaints = complaintsAbout({ title, alt, spec });
  if (complaints.length > 0)
    throw new Error(
      `Expected the chart "${title}" to have ${complaints.join(', ')}, but it has not.`,
    );
  const heading = {
    text: title,
    anchor: 'start',
    fontSize: 14,
    offset: 12,
    ...(subtitle ? { subtitle, subtitleFontSize: 11 } : {}),
  };
  const config = {
    background: 'transparent',
    font: 'system-ui, sans-serif',
    view: { stroke: null },
    axis: { labelFontSize: 11, titleFontSize: 12, gridOpacity: 0.6, titleFontWeight: 'normal' },
    legend: { labelFontSize: 12, titleFontSize: 12, labelLimit: 260, titleLimit: 260 },
    header: { labelFontSize: 12, labelFontWeight: 'bold', title: null },
  };
  return {
    kind: 'chart',
    title,
    alt,
    spec: { $schema: SCHEMA, title: heading, description: alt, config, ...spec },
  };
}

/**
 * Any Vega-Lite specification as a chart, of which nothing is asked; `title` and
 * `description` are its texts, where it has them.
 */
export function chartOfSpec(spec: VegaLiteSpec): Chart {
  const { text = spec.title } = (spec.title ?? {}) as { text?: unknown };
  const title = typeof text === 'string' ? text : 'Chart';
  const alt = typeof spec.description === 'string' ? spec.description : title;
  return { kind: 'chart', title, alt, spec: { $schema: SCHEMA, ...spec } };
}

/**
 * The data behind a chart as a table, in full precision; a row has an empty cell where
 * others have a field that it lacks. Vega-Lite calls the field of a bare value `data`.
 */
export function chartData(spec: VegaLiteSpec, caption: string): TableCells {
  const rows = (under('data', spec) as ({ values?: unknown[] } | null)[])
    .flatMap((data) => data?.values ?? [])
    .map(
      (value) =>
        (typeof value === 'object' && value !== null ? value : { data: value }) as VegaLiteSpec,
    );
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const text = (value: unknown): string =>
    typeof value === 'string' ? value : JSON.stringify(value);
  return {
    caption,
    columns,
    rows: rows.map((row) => columns.map((column) => text(row[column] ?? ''))),
  };
}

/** An axis title with its unit. */
export const titled = (title: string, unit: string): string => `${title} (${unit})`;
