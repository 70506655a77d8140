/** Small pictures of charts and recorded trajectories, for the cards of the index. */
import { greatest, group, max } from 'd3-array';
import { vegaDrawing } from '../../lib/pages/figures.js';
import { narrowed } from '../../lib/report/charts/narrow.js';
import { renderSvg } from '../../lib/report/charts/render.js';
import { valuesUnder, type VegaLiteSpec } from '../../lib/report/charts/spec.js';
import { markup, type Content, type Markup } from '../../lib/report/markup.js';
import type { Trajectory, With } from '../../lib/rollout/trajectory.js';

const THUMBNAIL = { widthPx: 330, heightPx: 110 };

/** Small text, with the title of the vertical axis above it. */
const THUMBNAIL_CONFIG = {
  axis: { labelFontSize: 10, titleFontSize: 10, titleFontWeight: 'normal', gridOpacity: 0.6 },
  axisY: { titleAngle: 0, titleAlign: 'left', titleAnchor: 'end', titleX: -20, titleY: -10 },
  legend: { titleFontSize: 10, labelFontSize: 10, titleOrient: 'left', symbolSize: 40 },
};

interface Facet {
  field: string;
  sort?: unknown[];
}

const thumbnails = new Map<string, Promise<Content>>();

/**
 * One panel of a chart as a small SVG under the panel's title; cached.
 * @param id prefixes the ids of the drawing
 * @param panel title of the panel. Default: the first
 */
export function thumbnail(spec: VegaLiteSpec, id: string, panel = ''): Promise<Content> {
  const key = JSON.stringify([id, panel, spec]);
  if (!thumbnails.has(key)) thumbnails.set(key, drawThumbnail(spec, { id, panel }));
  return thumbnails.get(key)!;
}

/** A layer with its vertical title in one line, because it is above the axis. */
function inOneLine({ encoding, ...layer }: VegaLiteSpec): VegaLiteSpec {
  const { y, ...channels } = encoding as { y?: VegaLiteSpec };
  const title = Array.isArray(y?.title) ? y.title.join(' ') : y?.title;
  return { ...layer, encoding: { ...channels, ...(y && { y: { ...y, title } }) } };
}

/** Maximum letters of a legend's label in two columns. */
const MAX_LEGEND_LETTERS = 17;

/** Letters of the legend's longest label. */
function longestLabel(view: VegaLiteSpec): number {
  const labels = valuesUnder('domain', view).flat().map(String);
  return Math.max(0, ...labels.map(({ length }) => length));
}

async function drawThumbnail(
  { data, facet = {}, spec, config, title: _, ...chart }: VegaLiteSpec,
  { id, panel }: { id: string; panel: string },
) {
  const { values } = data as { values: VegaLiteSpec[] };
  const facets = (
    'field' in (facet as object) ? [facet] : Object.values(facet as object)
  ) as Facet[];
  const titles = facets.flatMap(({ sort = [] }) => sort);
  if (panel !== '' && !titles.includes(panel))
    throw new Error(
      `Expected the chart of ${id} to have a panel "${panel}", but it has ${titles.join(', ')}.`,
    );
  const shown = facets.map(({ sort = [] }) => (sort.includes(panel) ? panel : sort[0]));
  const { height, layer } = (spec ?? chart) as { height?: unknown; layer?: VegaLiteSpec[] };
  const rows = values.filter((row) => facets.every(({ field }, i) => row[field] === shown[i]));
  const isPaperShown = rows.some(({ paper }) => typeof paper === 'number');
  const view = {
    ...(spec ?? chart),
    data: { values: rows },
    height: typeof height === 'object' ? height : THUMBNAIL.heightPx,
    ...(layer && { layer: layer.map(inOneLine) }),
  };
  const columns = longestLabel(view) > MAX_LEGEND_LETTERS ? 1 : 2;
  const legend = { ...THUMBNAIL_CONFIG.legend, columns };
  const style = { ...(config as object), ...THUMBNAIL_CONFIG, legend };
  const small = narrowed({ ...view, config: style }, THUMBNAIL.widthPx);
  const text = [...shown, ...(isPaperShown ? ['hollow: the paper'] : [])].join(', ');
  const heading = { text, anchor: 'start', fontSize: 11, offset: 14 };
  const svg = await renderSvg({ title: id, spec: { ...small, title: text ? heading : undefined } });
  return vegaDrawing(svg, id);
}

/** Number of sub-queries that fit into a card. */
const MAX_QUERIES = 4;

const isRight = ({ answer, goldenAnswers }: Trajectory): boolean =>
  answer !== null && goldenAnswers.includes(answer);

const isShort = ({ searchTurns }: Trajectory): boolean => {
  const queries = searchTurns.flatMap((turn) => turn.queries);
  return new Set(queries).size === queries.length && queries.length <= MAX_QUERIES;
};

/**
 * A question as two methods answered it, with a box per turn: the question with
 * the most sub-queries in a turn among those with at most four different queries that the
 * second method answered right and the first right or wrong. Null if there is none.
 */
export function answersPicture(
  trajectories: readonly With<'method'>[],
  methods: readonly [string, string],
  { first: isFirstRight }: { first: boolean },
): Markup | null {
  const byQuestion = group(trajectories.filter(isShort), ({ questionId }) => questionId);
  const pairs = [...byQuestion.values()]
    .map((answers) => methods.map((method) => answers.find((one) => one.method === method)))
    .filter((pair) => pair.every((one) => one !== undefined))
    .filter(([first, second]) => isRight(first) === isFirstRight && isRight(second));
  const widest = greatest(pairs, ([first]) =>
    max(first.searchTurns, ({ queries }) => queries.length),
  );
  if (!widest) return null;
  const rows = widest.map((trajectory) => {
    const { method, answer, searchTurns } = trajectory;
    const searches = searchTurns.map(({ queries }) => {
      const spans = queries.map((query) => markup('span', query));
      return markup('li.search', spans);
    });
    const outcome = `${answer ?? 'no answer'} ${isRight(trajectory) ? '✓' : '✗'}`;
    return [markup('b', method), markup('ol', searches, markup('li.answer', outcome))];
  });
  return markup('div.turns', markup('span', widest[0].question), rows);
}
