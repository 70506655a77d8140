/** The questions to pick from, by what they ask for. */
import { questionShape, type Question } from '../../../data/question.js';

/** What a question needs, in words; from its dependency graph. */
export function kindOf({ metadata }: Question): string {
  const graph = metadata.graph ?? [];
  if (graph.length === 0) return 'unknown';
  switch (questionShape(graph)) {
    case 'single_hop':
      return 'one fact';
    case 'parallelizable':
      return `${graph.length} things compared`;
    case 'sequential':
      return `a chain of ${graph.length} steps`;
    case 'hybrid':
      return 'two chains side by side';
  }
}

/** Questions of each kind, kinds in the order of their names. */
export function groupByKind(questions: readonly Question[]): Map<string, Question[]> {
  const groups = new Map<string, Question[]>();
  for (const question of questions) {
    const kind = kindOf(question);
    groups.set(kind, [...(groups.get(kind) ?? []), question]);
  }
  return new Map([...groups].sort(([a], [b]) => a.localeCompare(b)));
}
