/** Diagrams of question graph and searches. Boxes in one column happen in parallel. */
import type { SubQuestion } from '../../../data/question.js';
import { finalNodes, searchPlan } from '../../../data/search-plan.js';
import { paddedWords } from '../../../text/answer-match.js';
import { svg } from '../../browser/dom.js';
import type { ViewerTrajectory } from '../data.js';

interface Box {
  id: string;
  /** `asked`, `missed`: sub-questions. `stray`: a sub-query for no sub-question. */
  kind: 'plain' | 'asked' | 'missed' | 'stray' | 'failed' | 'right' | 'wrong';
  title: string;
  detail: string;
  /** Ids of the boxes that point to this one. */
  from: readonly string[];
}

/** Sub-questions whose entity a sub-query names, as for sub-question recall. */
export function nodesAsked(graph: readonly SubQuestion[], query: string): SubQuestion[] {
  const words = paddedWords(query);
  return graph.filter(({ entity }) => words.includes(paddedWords(entity)));
}

/** Id of the answer's box; ids of sub-questions are not empty. */
const END = '';
const OPERATIONS = { argmin: 'the least', argmax: 'the greatest' };

/** The sub-questions, marked if asked by the policy, and how they lead to the answer. */
export function questionDiagram({ goldenAnswers, metadata, turns }: ViewerTrajectory): Box[][] {
  const { graph = [], operation } = metadata;
  const queries = turns.flatMap((turn) => turn.queries);
  const asked = new Set(queries.flatMap((query) => nodesAsked(graph, query)));
  const columns = searchPlan(graph, 'parallel').map((column) =>
    column.map(
      (node): Box => ({
        id: node.id,
        kind: asked.has(node) ? 'asked' : 'missed',
        title: `${node.id}: ${node.entity}`,
        detail: `${node.attribute}${asked.has(node) ? `: ${node.answers[0]}` : ' (never asked)'}`,
        from: node.dependsOn,
      }),
    ),
  );
  const detail = operation ? `${OPERATIONS[operation.kind]} (${operation.attribute})` : 'answer';
  const title = goldenAnswers[0] ?? '–';
  return [
    ...columns,
    [{ id: END, kind: 'plain', title, detail, from: finalNodes(graph).map(({ id }) => id) }],
  ];
}

/** The sub-queries of each turn, then the answer. */
export function policyDiagram({ answer, exactMatch, metadata, turns }: ViewerTrajectory): Box[][] {
  const { graph } = metadata;
  const mark = (query: string, isFailed: boolean): Pick<Box, 'kind' | 'detail'> => {
    if (isFailed) return { kind: 'failed', detail: 'retrieval failed' };
    if (!graph) return { kind: 'plain', detail: '' };
    const ids = nodesAsked(graph, query).map(({ id }) => id);
    return ids.length > 0
      ? { kind: 'asked', detail: `asks for ${ids.join(', ')}` }
      : { kind: 'stray', detail: 'not in the question graph' };
  };
  const columns: Box[][] = [];
  const lastIds = (): string[] => columns.at(-1)?.map(({ id }) => id) ?? [];
  for (const { queries, results } of turns.filter((turn) => turn.queries.length > 0)) {
    const from = lastIds();
    const boxes = queries.map((query, k): Box => {
      const isFailed = results[queries.length === results.length ? k : 0]?.status === 'failed';
      return { id: `${columns.length}-${k}`, title: query, ...mark(query, isFailed), from };
    });
    columns.push(boxes);
  }
  const kind = exactMatch ? 'right' : 'wrong';
  const detail = answer === null ? '' : `${kind} answer`;
  return [...columns, [{ id: END, kind, title: answer ?? 'no answer', detail, from: lastIds() }]];
}

export function describeDiagram(columns: readonly Box[][]): string {
  const box = ({ title, detail }: Box): string => (detail ? `${title} [${detail}]` : title);
  return columns.map((column) => column.map(box).join(' and ')).join(', then ');
}

/** In a narrow window, a wide diagram shrinks to at least this share, then scrolls. */
const SMALLEST = 0.75;
/** Sizes in pixels. */
const BOX = { width: 200, height: 42, gapX: 40, gapY: 10 };
/** Number of letters that fit into a box. */
const LETTERS = { title: 24, detail: 28 };

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text;

interface Place {
  x: number;
  y: number;
}

function drawEdge(from: Place, to: Place): SVGGElement {
  const x1 = from.x + BOX.width;
  const y1 = from.y + BOX.height / 2;
  const x2 = to.x - 5;
  const y2 = to.y + BOX.height / 2;
  const middle = (x1 + x2) / 2;
  const line = svg('path', { d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` });
  return svg('g.edge', line, svg('path.head', { d: `M${x2} ${y2 - 4}l5 4l-5 4z` }));
}

const drawBox = ({ kind, title, detail }: Box, { x, y }: Place): SVGGElement =>
  svg(
    `g.box.${kind}`,
    { transform: `translate(${x} ${y})` },
    svg('title', detail ? `${title} – ${detail}` : title),
    svg('rect', { width: BOX.width, height: BOX.height, rx: 5 }),
    svg('text.box-title', { x: 9, y: detail ? 17 : 26 }, cut(title, LETTERS.title)),
    svg('text.box-detail', { x: 9, y: 33 }, cut(detail, LETTERS.detail)),
  );

/** Draws columns from left to right, vertically centred. */
export function drawDiagram(title: string, columns: readonly Box[][]): SVGSVGElement {
  const [stepX, stepY] = [BOX.width + BOX.gapX, BOX.height + BOX.gapY];
  const height = Math.max(...columns.map((column) => column.length)) * stepY - BOX.gapY + 2;
  const width = columns.length * stepX - BOX.gapX + 2;
  const places = new Map<string, Place>();
  columns.forEach((column, c) => {
    const top = (height - column.length * stepY + BOX.gapY) / 2;
    column.forEach(({ id }, r) => places.set(id, { x: 1 + c * stepX, y: top + r * stepY }));
  });
  const label = `${title}: ${describeDiagram(columns)}`;
  const drawing = svg(
    'svg.diagram',
    { role: 'img', 'aria-label': label, width, height, viewBox: `0 0 ${width} ${height}` },
    columns
      .flat()
      .flatMap(({ id, from }) => from.map((d) => drawEdge(places.get(d)!, places.get(id)!))),
    columns.flat().map((box) => drawBox(box, places.get(box.id)!)),
  );
  drawing.style.minWidth = `${SMALLEST * width}px`;
  return drawing;
}
