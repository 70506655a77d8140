/** Diagrams as SVG. */
import { svg } from '../../../html/browser/dom.js';
import type { Box, Diagram } from './graph.js';

/** Sizes in pixels. */
const BOX = { width: 200, height: 42, gapX: 40, gapY: 10 };
/** Letters that fit into a box. */
const LETTERS = { title: 24, detail: 28 };

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text;

interface Place {
  x: number;
  y: number;
}

function drawEdge(from: Place, to: Place): SVGGElement {
  const [x1, y1, x2, y2] = [
    from.x + BOX.width,
    from.y + BOX.height / 2,
    to.x - 5,
    to.y + BOX.height / 2,
  ];
  const middle = (x1 + x2) / 2;
  const line = svg('path', { d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` });
  return svg('g.edge', line, svg('path.head', { d: `M${x2} ${y2 - 4}l5 4l-5 4z` }));
}

function drawBox({ kind, title, detail }: Box, { x, y }: Place): SVGGElement {
  return svg(
    `g.box.${kind}`,
    { transform: `translate(${x} ${y})` },
    svg('title', detail ? `${title} – ${detail}` : title),
    svg('rect', { width: BOX.width, height: BOX.height, rx: 5 }),
    svg('text.box-title', { x: 9, y: detail ? 17 : 26 }, cut(title, LETTERS.title)),
    svg('text.box-detail', { x: 9, y: 33 }, cut(detail, LETTERS.detail)),
  );
}

/**
 * The picture of a diagram, with its description for those who don't see it. Columns go
 * from left to right, each in the middle.
 */
export function drawDiagram({ columns, edges, description }: Diagram): SVGSVGElement {
  const [stepX, stepY] = [BOX.width + BOX.gapX, BOX.height + BOX.gapY];
  const height = Math.max(...columns.map((column) => column.length)) * stepY - BOX.gapY + 2;
  const width = columns.length * stepX - BOX.gapX + 2;
  const places = new Map<string, Place>();
  columns.forEach((column, c) => {
    const top = (height - column.length * stepY + BOX.gapY) / 2;
    column.forEach(({ id }, r) => places.set(id, { x: 1 + c * stepX, y: top + r * stepY }));
  });
  return svg(
    'svg.diagram',
    { role: 'img', 'aria-label': description, width, height, viewBox: `0 0 ${width} ${height}` },
    edges.map(([from, to]) => drawEdge(places.get(from)!, places.get(to)!)),
    columns.flat().map((box) => drawBox(box, places.get(box.id)!)),
  );
}
