/**
 * Questions and their dependency graphs. The question type comes from the graph, or
 * without one from the benchmark.
 */
import { group, sort, sum } from 'd3-array';
import { z } from 'zod';
import { ownValue } from '../own-value.js';
import { createRandom } from '../random.js';
import { exactMatch } from '../text/answer-match.js';

/** Right answers without blank ones, which would match every empty answer. */
export const goldenAnswersSchema = z
  .array(z.string())
  .transform((answers) => answers.filter((answer) => answer.trim() !== ''));

export const subQuestionSchema = z.object({
  /** Id within the graph, such as `q1`. */
  id: z.string().min(1),
  question: z.string().min(1),
  /** The entity asked about; for a later hop, the answer of the earlier one. */
  entity: z.string().min(1),
  attribute: z.string().min(1),
  /** The ideal search query. */
  query: z.string().min(1),
  /** Ids of the sub-questions whose answers this one needs. */
  dependsOn: z.array(z.string()),
  answers: z.array(z.string()).min(1),
  /** Ids of passages that state the answer. */
  evidence: z.array(z.string()),
});

const operationSchema = z.object({
  kind: z.enum(['argmin', 'argmax']),
  attribute: z.string().min(1),
});

export type SubQuestion = z.infer<typeof subQuestionSchema>;
/** The nodes; edges are in `dependsOn`. */
export type QuestionGraph = SubQuestion[];
/** How the answer follows from the last sub-questions; null if it is the last answer. */
export type Operation = z.infer<typeof operationSchema>;
/** Which searches a question needs, see {@link graphQuestionType}. */
export const questionTypeSchema = z.enum(['single_hop', 'parallelizable', 'sequential', 'hybrid']);
export type QuestionType = z.infer<typeof questionTypeSchema>;

export const questionMetadataSchema = z.looseObject({
  benchmark: z.string().optional(),
  /** The benchmark's own type, such as `bridge` or `comparison`. */
  type: z.string().optional(),
  /** Name of the template, in the small world. */
  template: z.string().optional(),
  /** Whether training questions have the same wording. */
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

export interface Question {
  id: string;
  question: string;
  /** Alternative answers; any of them is right. */
  goldenAnswers: string[];
  split?: string;
  metadata: QuestionMetadata;
}

/** The questions of a split; questions without a split belong to every split. */
export const selectSplit = (questions: readonly Question[], split: string): Question[] =>
  questions.filter((question) => (question.split ?? split) === split);

/** The split to evaluate: test, or dev if no test questions have been drawn. */
export const evaluatedSplit = (questions: readonly Question[]): 'test' | 'dev' =>
  questions.some(({ split }) => split === 'test') ? 'test' : 'dev';

export const evaluatedQuestions = (questions: readonly Question[]): Question[] =>
  selectSplit(questions, evaluatedSplit(questions));

/** Benchmark and question type, such as `hotpotqa parallelizable`. */
function stratum({ metadata }: Question): string {
  const type = questionType({ metadata }) ?? metadata.type ?? 'of unknown type';
  return [metadata.benchmark, type].filter(Boolean).join(' ');
}

/**
 * Samples n questions in the proportions of benchmarks and question types (largest
 * remainder), keeping their order. Depends on nothing but the questions and n.
 */
export function sampleQuestions(
  questions: readonly Question[],
  n: number,
): { questions: Question[]; strata: Map<string, number> } {
  const groups = sort(group(questions, stratum), ([name]) => name);
  const size = Math.min(n, questions.length);
  const quotas = groups.map(([name, members]) => {
    const quota = (size * members.length) / questions.length;
    return { name, members, whole: Math.floor(quota), remainder: quota - Math.floor(quota) };
  });
  const numMissing = size - sum(quotas, ({ whole }) => whole);
  const roundedUp = new Set(
    sort(quotas, (a, b) => b.remainder - a.remainder || b.members.length - a.members.length)
      .slice(0, numMissing)
      .map(({ name }) => name),
  );
  const strata = new Map(
    quotas.map(({ name, whole }) => [name, whole + Number(roundedUp.has(name))]),
  );
  const sampled = new Set(
    groups.flatMap(([name, members]) =>
      createRandom(`sample/${name}`).shuffle(members).slice(0, strata.get(name)),
    ),
  );
  return { questions: questions.filter((question) => sampled.has(question)), strata };
}

export interface SampleOptions {
  /** Samples one of every n questions in each stratum, rounded up. */
  oneOf: number;
  /** The same seed gives the same sample. */
  seed: string;
}

/**
 * Samples evaluated questions by benchmark, question type and size of the graph. A given
 * number of questions: {@link sampleQuestions}.
 */
export function stratifiedSample(
  questions: readonly Question[],
  { oneOf, seed }: SampleOptions,
): Question[] {
  const strata = group(
    evaluatedQuestions(questions),
    ({ metadata: { benchmark, graph = [] } }) =>
      `${benchmark}/${graphQuestionType(graph)}/${graph.length}`,
  );
  return [...strata].flatMap(([stratum, members]) =>
    createRandom(`${seed}/${stratum}`)
      .shuffle(members)
      .slice(0, Math.ceil(members.length / oneOf)),
  );
}

/**
 * Finds a question by id.
 * @throws Error naming the id and an example of an existing one
 */
export function findQuestion(questions: readonly Question[], id: string): Question {
  const match = questions.find((question) => question.id === id);
  if (match) return match;
  const hint = questions.length > 0 ? ` Ids look like ${JSON.stringify(questions[0].id)}.` : '';
  throw new Error(`None of ${questions.length} questions has the id ${JSON.stringify(id)}.${hint}`);
}

/**
 * Finds the question of a recording: by id if the text agrees or, without a text, the
 * benchmark and a right answer, since ids repeat across benchmarks and splits; else by
 * text. Undefined if several remain.
 */
export function createQuestionFinder(
  questions: readonly Question[],
): (recorded: {
  id?: string;
  question?: string;
  benchmark?: string;
  goldenAnswers?: readonly string[];
}) => Question | undefined {
  const [byId, byText] = (['id', 'question'] as const).map((key) =>
    group(questions, (question) => question[key]),
  );
  return ({ id = '', question: text = '', benchmark, goldenAnswers: given = [] }) => {
    const agrees = ({ question, goldenAnswers, metadata }: Question): boolean =>
      text !== ''
        ? question === text
        : (benchmark === undefined || benchmark === (metadata.benchmark ?? benchmark)) &&
          (given.length === 0 || given.some((answer) => exactMatch(answer, goldenAnswers) === 1));
    const sameId = byId.get(id)?.filter(agrees) ?? [];
    const matches = sameId.length > 0 ? sameId : (byText.get(text) ?? []);
    return new Set(matches.map(({ question }) => question)).size === 1 ? matches[0] : undefined;
  };
}

/** @throws Error naming an id that several questions have */
export function requireUniqueIds(questions: readonly Question[]): void {
  const repeated = [...group(questions, ({ id }) => id).values()].find(({ length }) => length > 1);
  if (!repeated) return;
  const [{ id, question }, other] = repeated;
  const text = JSON.stringify(question);
  throw new Error(
    other.question === question
      ? `Expected each question once, but ${id} (${text}) is given twice. Leave one out.`
      : `Expected unique ids, but ${id} names ${text} and ${JSON.stringify(other.question)}. Put the benchmark before the id.`,
  );
}

/** The sub-questions that depend on no other. */
export const independentSubQuestions = (graph: QuestionGraph): SubQuestion[] =>
  graph.filter((node) => node.dependsOn.length === 0);

/**
 * The length of the longest chain: the minimum number of search turns for the answer.
 * @throws Error for a cycle, an edge to nowhere, or repeated ids
 */
export function graphDepth(graph: QuestionGraph): number {
  const nodes = new Map(graph.map((node) => [node.id, node]));
  if (nodes.size !== graph.length)
    throw new Error('Expected sub-question ids to be unique within a graph.');
  const depths = new Map<string, number>();
  const visiting = new Set<string>();
  const nodeDepth = (id: string): number => {
    const node = nodes.get(id);
    if (!node)
      throw new Error(`Expected dependsOn to name a sub-question of the graph, but got ${id}.`);
    if (visiting.has(id))
      throw new Error(`Expected an acyclic graph, but ${id} depends on itself.`);
    visiting.add(id);
    const depth = depths.get(id) ?? 1 + Math.max(0, ...node.dependsOn.map(nodeDepth));
    visiting.delete(id);
    depths.set(id, depth);
    return depth;
  };
  return Math.max(0, ...graph.map((node) => nodeDepth(node.id)));
}

/**
 * Derives the question type from a dependency graph: one node is `single_hop`, two or
 * more without edges `parallelizable`, a chain `sequential`, anything else `hybrid` (such
 * as a bridge comparison: two parallel chains).
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

/** Question types of the benchmarks' own types; the authors use `na` for NQ. */
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

/** The type by the graph, else by the benchmark's own type; undefined without either. */
export function questionType({
  metadata: { graph, type = '' },
}: Pick<Question, 'metadata'>): QuestionType | undefined {
  if (graph?.length) return graphQuestionType(graph);
  return ownValue(BENCHMARK_TYPES, type);
}
