/**
 * Questions and their dependency graphs. A question is parallelizable when its
 * sub-questions do not depend on each other; that is computed from the graph, never
 * stored as a label of its own.
 */
import { z } from 'zod';

export const subQuestionSchema = z.object({
  /** Name within the graph, such as `q1`. */
  id: z.string().min(1),
  question: z.string().min(1),
  /** The entity asked about; for a later hop the one that the earlier hop resolves to. */
  entity: z.string().min(1),
  attribute: z.string().min(1),
  /** What an ideal agent searches for. */
  query: z.string().min(1),
  /** Sub-questions whose answers are needed before this one can be asked. */
  dependsOn: z.array(z.string()),
  answers: z.array(z.string()).min(1),
  /** Passages that state the answer. */
  evidence: z.array(z.string()),
});

export const operationSchema = z.object({
  kind: z.enum(['argmin', 'argmax']),
  attribute: z.string().min(1),
});

/** One node of a dependency graph. */
export type SubQuestion = z.infer<typeof subQuestionSchema>;
/** A dependency graph: its nodes, with the edges in `dependsOn`. */
export type QuestionGraph = SubQuestion[];
/**
 * How the answers of the last sub-questions are put together; absent or null when the
 * last answer is the answer.
 */
export type Operation = z.infer<typeof operationSchema>;
/** Which searches a question needs: see {@link graphQuestionType}. */
export const questionTypeSchema = z.enum(['single_hop', 'parallelizable', 'sequential', 'hybrid']);
export type QuestionType = z.infer<typeof questionTypeSchema>;

export const questionMetadataSchema = z.looseObject({
  benchmark: z.string().optional(),
  /** The benchmark's own type, such as `bridge` or `comparison`. */
  type: z.string().optional(),
  /** The template of the small world that made the question. */
  template: z.string().optional(),
  /** Whether training questions are worded in the same way. */
  wording: z.enum(['seen', 'unseen']).optional(),
  graph: z
    .array(subQuestionSchema)
    .superRefine((graph, context) => {
      try {
        graphDepth(graph);
      } catch (error) {
        context.addIssue((error as Error).message);
      }
    })
    .optional(),
  operation: operationSchema.nullable().optional(),
});

export type QuestionMetadata = z.infer<typeof questionMetadataSchema>;

/** A passage of a corpus. `contents` is the title, a line break and the text. */
export interface Passage {
  id: string;
  contents: string;
  title: string;
  text: string;
}

/** Passages from texts by their titles, with the ids `own-1`, `own-2` and so on. */
export function passagesOf(texts: Readonly<Record<string, string>>): Passage[] {
  return Object.entries(texts).map(([title, text], i) => ({
    id: `own-${i + 1}`,
    contents: `${title}\n${text}`,
    title,
    text,
  }));
}

/** A question with its gold answers, any of which counts as right. */
export interface Question {
  id: string;
  question: string;
  goldenAnswers: string[];
  split?: string;
  metadata: QuestionMetadata;
}

/** The questions of a split; one that names no split is of every split. */
export const questionsOfSplit = (questions: readonly Question[], split: string): Question[] =>
  questions.filter((question) => (question.split ?? split) === split);

/** The split to evaluate: test, or dev if no test questions have been drawn. */
export const evaluatedSplit = (questions: readonly Question[]): 'test' | 'dev' =>
  questions.some(({ split }) => split === 'test') ? 'test' : 'dev';

/** The questions of the evaluated split. */
export const evaluatedQuestions = (questions: readonly Question[]): Question[] =>
  questionsOfSplit(questions, evaluatedSplit(questions));

/**
 * The question of an id.
 * @throws Error naming the id, and one that there is, when there is none
 */
export function findQuestion(questions: readonly Question[], id: string): Question {
  const found = questions.find((question) => question.id === id);
  if (found) return found;
  const hint = questions.length > 0 ? ` Ids look like ${JSON.stringify(questions[0].id)}.` : '';
  throw new Error(`None of ${questions.length} questions has the id ${JSON.stringify(id)}.${hint}`);
}

/** The sub-questions that can be asked at once, before anything is known. */
export function independentSubQuestions(graph: QuestionGraph): SubQuestion[] {
  return graph.filter((node) => node.dependsOn.length === 0);
}

/**
 * The length of the longest chain of sub-questions: the fewest search turns that answer
 * the question. Throws when an edge names no node or when the edges form a cycle.
 */
export function graphDepth(graph: QuestionGraph): number {
  const nodes = new Map(graph.map((node) => [node.id, node]));
  if (nodes.size !== graph.length)
    throw new Error('Expected sub-question ids to be unique within a graph.');
  const depths = new Map<string, number>();
  const visiting = new Set<string>();
  const depthOf = (id: string): number => {
    const node = nodes.get(id);
    if (!node)
      throw new Error(`Expected dependsOn to name a sub-question of the graph, but got ${id}.`);
    if (visiting.has(id))
      throw new Error(`Expected an acyclic graph, but ${id} depends on itself.`);
    const known = depths.get(id);
    if (known !== undefined) return known;
    visiting.add(id);
    const depth = 1 + Math.max(0, ...node.dependsOn.map(depthOf));
    visiting.delete(id);
    depths.set(id, depth);
    return depth;
  };
  return Math.max(0, ...graph.map((node) => depthOf(node.id)));
}

/**
 * The question type of a dependency graph: one node is `single_hop`, two or more without
 * edges `parallelizable`, a chain `sequential`, anything else `hybrid` (such as a bridge
 * comparison: two parallel chains).
 */
export function graphQuestionType(graph: QuestionGraph): QuestionType {
  if (graph.length === 0)
    throw new Error('Expected a dependency graph with at least one sub-question, but got none.');
  const depth = graphDepth(graph);
  if (graph.length === 1) return 'single_hop';
  if (depth === 1) return 'parallelizable';
  const isChain = depth === graph.length && graph.every((node) => node.dependsOn.length <= 1);
  return isChain ? 'sequential' : 'hybrid';
}

/** The benchmarks' own types; the authors use `na` for NQ. */
const BENCHMARK_TYPES: Readonly<Record<string, QuestionType>> = {
  comparison: 'parallelizable',
  comparison_query: 'parallelizable',
  bridge: 'sequential',
  compositional: 'sequential',
  inference: 'sequential',
  inference_query: 'sequential',
  '2hop': 'sequential',
  bridge_comparison: 'hybrid',
  single_hop: 'single_hop',
  na: 'single_hop',
};

/**
 * The question type: from the graph, else from the benchmark's own type, as in the
 * authors' code; undefined if neither tells it.
 */
export function questionType({
  metadata: { graph, type = '' },
}: Pick<Question, 'metadata'>): QuestionType | undefined {
  if (graph?.length) return graphQuestionType(graph);
  return Object.hasOwn(BENCHMARK_TYPES, type) ? BENCHMARK_TYPES[type] : undefined;
}
