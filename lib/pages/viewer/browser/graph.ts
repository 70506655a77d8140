/**
 * What a question needs and what the policy did, each as boxes in columns: what stands in
 * one column goes at once.
 */
import { normalizeAnswer } from '../../../text/normalize.js';
import type { ShownTurn } from '../../../html/passages.js';
import type { ViewerNode, ViewerQuestion, ViewerTrajectory } from '../data.js';

/**
 * `asked` and `missed` of sub-questions, `stray` of sub-queries that ask for none of
 * them.
 */
export type BoxKind = 'plain' | 'asked' | 'missed' | 'stray' | 'failed' | 'right' | 'wrong';

export interface Box {
  id: string;
  kind: BoxKind;
  /** A line in bold and one below it. */
  title: string;
  detail: string;
}

export interface Diagram {
  /** From left to right: what comes one after the other. */
  columns: Box[][];
  /** Ids of boxes. */
  edges: [from: string, to: string][];
  /** The same in words. */
  description: string;
}

/**
 * The sub-questions that a sub-query asks for: those whose entity's name its words
 * hold, as coverage counts them.
 */
export function nodesAsked(graph: readonly ViewerNode[], query: string): ViewerNode[] {
  const words = ` ${normalizeAnswer(query)} `;
  return graph.filter(({ entity }) => words.includes(` ${normalizeAnswer(entity)} `));
}

/** Sub-questions by the number of others that must come before, from none on. */
export function graphColumns(graph: readonly ViewerNode[]): ViewerNode[][] {
  const columns: ViewerNode[][] = [];
  const placed = new Set<string>();
  while (placed.size < graph.length) {
    const ready = graph.filter(
      ({ id, dependsOn }) => !placed.has(id) && dependsOn.every((d) => placed.has(d)),
    );
    if (ready.length === 0) break;
    columns.push(ready);
    for (const { id } of ready) placed.add(id);
  }
  return columns;
}

/** Id of the last box; no sub-question has it, for theirs are not empty. */
const END = '';

const OPERATIONS: Record<string, string> = {
  argmin: 'the least',
  argmax: 'the greatest',
  same: 'all the same?',
};

/**
 * What a question needs: its sub-questions, those that `turns` ask for marked, and how
 * the answers come together.
 */
export function questionDiagram(
  { goldenAnswers, operation }: ViewerQuestion,
  graph: readonly ViewerNode[],
  turns: readonly ShownTurn[],
): Diagram {
  const asked = new Set(
    turns.flatMap(({ queries }) => queries.flatMap((q) => nodesAsked(graph, q))),
  );
  const box = (node: ViewerNode): Box => ({
    id: node.id,
    kind: asked.has(node) ? 'asked' : 'missed',
    title: `${node.id}: ${node.entity}`,
    detail: asked.has(node)
      ? `${node.attribute}: ${node.answers[0]}`
      : `${node.attribute} (never asked)`,
  });
  const needed = new Set(graph.flatMap(({ dependsOn }) => dependsOn));
  const last = graph.filter(({ id }) => !needed.has(id));
  const how = operation ? `${OPERATIONS[operation.kind]} (${operation.attribute})` : 'answer';
  const end: Box = { id: END, kind: 'plain', title: goldenAnswers[0] ?? '–', detail: how };
  const columns = [...graphColumns(graph).map((column) => column.map(box)), [end]];
  const drawn = new Set(columns.flat().map(({ id }) => id));
  const edges = [
    ...graph.flatMap(({ id, dependsOn }) => dependsOn.map((from): [string, string] => [from, id])),
    ...last.map(({ id }): [string, string] => [id, END]),
  ].filter(([from, to]) => drawn.has(from) && drawn.has(to));
  return { columns, edges, description: `What the question needs: ${words(columns)}` };
}

/** What the policy did: the sub-queries of each turn in a column, then its answer. */
export function policyDiagram(
  trajectory: Pick<ViewerTrajectory, 'answer' | 'exactMatch'>,
  graph: readonly ViewerNode[] | null,
  turns: readonly ShownTurn[],
): Diagram {
  const columns = turns.map(({ queries, results }, t) =>
    queries.map((query, k): Box => {
      const failed = results[queries.length === results.length ? k : 0]?.status === 'failed';
      return { id: `${t}-${k}`, title: query, ...whatFor(graph, query, failed) };
    }),
  );
  const { answer, exactMatch } = trajectory;
  const end: Box = {
    id: END,
    kind: exactMatch ? 'right' : 'wrong',
    title: answer ?? 'no answer',
    detail: answer === null ? '' : exactMatch ? 'right answer' : 'wrong answer',
  };
  const all = [...columns.filter((column) => column.length > 0), [end]];
  const edges = all
    .slice(1)
    .flatMap((column, c) =>
      all[c].flatMap(({ id }) => column.map((box): [string, string] => [id, box.id])),
    );
  return { columns: all, edges, description: `What the policy did: ${words(all)}` };
}

/**
 * How a sub-query is marked: by the sub-questions that it asks for, where the graph is
 * known.
 */
function whatFor(
  graph: readonly ViewerNode[] | null,
  query: string,
  failed: boolean,
): Pick<Box, 'kind' | 'detail'> {
  if (failed) return { kind: 'failed', detail: 'retrieval failed' };
  if (!graph) return { kind: 'plain', detail: '' };
  const ids = nodesAsked(graph, query).map(({ id }) => id);
  return ids.length > 0
    ? { kind: 'asked', detail: `asks for ${ids.join(', ')}` }
    : { kind: 'stray', detail: 'no sub-question of the graph' };
}

function words(columns: readonly Box[][]): string {
  const box = ({ title, detail }: Box): string => (detail ? `${title} [${detail}]` : title);
  return columns.map((column) => column.map(box).join(' and at once ')).join(', then ');
}
