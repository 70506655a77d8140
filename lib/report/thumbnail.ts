/** A chart as a small picture: its last panel, without its title. */
import { narrowed } from '../html/browser/narrow.js';
import type { VegaLiteSpec } from './chart.js';
import { withUniqueIds } from './figures.js';
import { renderSvg } from './render.js';

/** Pixels. */
const [WIDTH, HEIGHT] = [330, 110];

/**
 * Small letters; the title of the vertical axis stands above it, and the legend in two
 * columns.
 */
const CONFIG = {
  axis: { labelFontSize: 10, titleFontSize: 10, titleFontWeight: 'normal', gridOpacity: 0.6 },
  axisY: { titleAngle: 0, titleAlign: 'left', titleAnchor: 'end', titleX: -20, titleY: -10 },
  legend: {
    columns: 2,
    titleFontSize: 10,
    labelFontSize: 10,
    titleOrient: 'left',
    symbolSize: 40,
    labelLimit: 120,
  },
};

interface Facet {
  field: string;
  sort?: unknown[];
}

const drawn = new Map<string, Promise<string>>();

/**
 * The picture as SVG, whose ids begin with `id`; a chart is drawn once in the life of a
 * process.
 */
export function thumbnailSvg(spec: VegaLiteSpec, id: string): Promise<string> {
  const key = JSON.stringify([id, spec]);
  if (!drawn.has(key)) drawn.set(key, draw(spec, id));
  return drawn.get(key)!;
}

async function draw(
  { data, facet = {}, spec, config, title: _, ...chart }: VegaLiteSpec,
  id: string,
) {
  const { values } = data as { values: VegaLiteSpec[] };
  const facets = (
    'field' in (facet as object) ? [facet] : Object.values(facet as object)
  ) as Facet[];
  const isLast = (row: VegaLiteSpec): boolean =>
    facets.every(({ field, sort }) => !sort || row[field] === sort.at(-1));
  const view = { ...(spec ?? chart), data: { values: values.filter(isLast) }, height: HEIGHT };
  const small = narrowed({ ...view, config: { ...(config as object), ...CONFIG } }, WIDTH);
  const svg = await renderSvg({ title: id, spec: { ...small, title: undefined } });
  return withUniqueIds(svg, id);
}
