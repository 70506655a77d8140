/** Diagrams as SVG. */
import { svgElement } from './dom.js';
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

/** Where each box goes: columns from left to right, each in the middle of the height. */
function placesOf({ columns }: Diagram, height: number): Map<string, Place> {
  const step = BOX.height + BOX.gapY;
  return new Map(
    columns.flatMap((column, c) =>
      column.map(({ id }, r) => {
        const top = (height - column.length * step + BOX.gapY) / 2;
        return [id, { x: 1 + c * (BOX.width + BOX.gapX), y: top + r * step }] as const;
      }),
    ),
  );
}

function drawEdge(from: Place, to: Place): SVGGElement {
  const [x1, y1, x2, y2] = [from.x + BOX.width, from.y + BOX.height / 2, to.x - 5, to.y + BOX.height / 2];
  const middle = (x1 + x2) / 2;
  const line = svgElement('path', { d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` });
  const head = svgElement('path', { class: 'head', d: `M${x2} ${y2 - 4}l5 4l-5 4z` });
  return svgElement('g', { class: 'edge' }, line, head);
}

function drawBox({ kind, title, detail }: Box, { x, y }: Place): SVGGElement {
  const text = (className: string, dy: number, content: string): SVGTextElement =>
    svgElement('text', { class: className, x: 9, y: dy }, content);
  return svgElement(
    'g',
    { class: `box ${kind}`, transform: `translate(${x} ${y})` },
    svgElement('title', {}, detail ? `${title} – ${detail}` : title),
    svgElement('rect', { width: BOX.width, height: BOX.height, rx: 5 }),
    text('box-title', detail ? 17 : 26, cut(title, LETTERS.title)),
    text('box-detail', 33, cut(detail, LETTERS.detail)),
  );
}

/** The picture of a diagram, with its description for those who don't see it. */
export function drawDiagram(diagram: Diagram): SVGSVGElement {
  const { columns, edges, description } = diagram;
  const rows = Math.max(...columns.map((column) => column.length));
  const height = rows * (BOX.height + BOX.gapY) - BOX.gapY + 2;
  const width = columns.length * (BOX.width + BOX.gapX) - BOX.gapX + 2;
  const places = placesOf(diagram, height);
  const place = (id: string): Place => places.get(id)!;
  return svgElement(
    'svg',
    {
      class: 'diagram',
      role: 'img',
      'aria-label': description,
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
    },
    ...edges.map(([from, to]) => drawEdge(place(from), place(to))),
    ...columns.flat().map((box) => drawBox(box, place(box.id))),
  );
}
