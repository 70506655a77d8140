/** The searches that an ideal agent makes for a dependency graph. */
import type { SubQuestion } from './question.js';

/** Asks one sub-question per turn, or all that can be asked at once. */
export type SearchMode = 'sequential' | 'parallel';

/**
 * The nodes of each search turn, in an order that respects dependencies, chain by chain.
 * @throws Error if the graph has a cycle
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

/** The nodes that no other node depends on; the answer follows from them. */
export function finalNodes(graph: readonly SubQuestion[]): SubQuestion[] {
  const needed = new Set(graph.flatMap((node) => node.dependsOn));
  return graph.filter((node) => !needed.has(node.id));
}

/** The chain of sub-questions from the root to a node. */
export function chainTo(node: SubQuestion, graph: readonly SubQuestion[]): SubQuestion[] {
  const parent = graph.find((other) => node.dependsOn.includes(other.id));
  return parent ? [...chainTo(parent, graph), node] : [node];
}

/** `birthYear` -> `birth year` */
const attributeWords = ({ attribute }: SubQuestion): string =>
  attribute.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

const HOW = { sequential: 'one by one', parallel: 'all at once', compound: 'in one query' };

/**
 * The first thought of a demonstration: `Need director, then birth year.` or `Need year
 * of each, all at once.` Naming the attributes first tells the policy what to look for.
 */
export function describePlan(graph: readonly SubQuestion[], mode: keyof typeof HOW): string {
  const finals = finalNodes(graph);
  const steps = chainTo(finals[0], graph).map(attributeWords).join(', then ');
  if (finals.length === 1) return `Need ${steps}.`;
  return `Need ${steps} of each, ${HOW[mode]}.`;
}
