/**
 * How the sub-questions of a dependency graph are searched for: turn by turn, and the
 * thought that says so.
 */
import type { SubQuestion } from './question.js';

/** One sub-question a turn, or at once all that can be asked. */
export type SearchMode = 'sequential' | 'parallel';

/**
 * Nodes in an order that respects their dependencies, chain by chain, cut into search
 * turns.
 * @throws Error when the graph has a cycle
 */
export function searchPlan(graph: readonly SubQuestion[], mode: SearchMode): SubQuestion[][] {
  const asked = new Set<string>();
  const turns: SubQuestion[][] = [];
  while (asked.size < graph.length) {
    const ready = graph.filter(
      (node) => !asked.has(node.id) && node.dependsOn.every((id) => asked.has(id)),
    );
    if (ready.length === 0)
      throw new Error('Expected an acyclic dependency graph, but no sub-question can be asked.');
    const turn = mode === 'parallel' ? ready : [ready[0]];
    turn.forEach((node) => asked.add(node.id));
    turns.push(turn);
  }
  return turns;
}

/** Nodes that no other depends on: those that the answer is made of. */
export function finalNodes(graph: readonly SubQuestion[]): SubQuestion[] {
  const needed = new Set(graph.flatMap((node) => node.dependsOn));
  return graph.filter((node) => !needed.has(node.id));
}

/** The chain of sub-questions that leads to a node, from its root on. */
export function chainTo(node: SubQuestion, graph: readonly SubQuestion[]): SubQuestion[] {
  const parent = graph.find((other) => node.dependsOn.includes(other.id));
  return parent ? [...chainTo(parent, graph), node] : [node];
}

/** `birthYear` -> `birth year` */
export const attributeWords = ({ attribute }: SubQuestion): string =>
  attribute.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/**
 * The first thought of a demonstration: what is to be found out, in order, and how,
 * such as `Need director, then birth year.` or `Need year of each, all at once.` Naming
 * the attributes first tells the policy what to read for later.
 */
export function planOf(graph: readonly SubQuestion[], mode: SearchMode): string {
  const finals = finalNodes(graph);
  const steps = chainTo(finals[0], graph).map(attributeWords).join(', then ');
  if (finals.length === 1) return `Need ${steps}.`;
  return `Need ${steps} of each, ${mode === 'parallel' ? 'all at once' : 'one by one'}.`;
}
