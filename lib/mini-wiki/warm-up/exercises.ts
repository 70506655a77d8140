/** What a row is about: questions drawn by their shape, most often with invented names, and facts with their passages. */
import { group, sum } from 'd3-array';
import { questionShape, type Passage, type Question, type SubQuestion } from '../../data/question.js';
import type { Random } from '../../random.js';
import type { Bm25Retriever } from '../../retrieval/bm25.js';
import type { Lookup } from './demonstrations.js';
import type { NameMaker } from './names.js';
import { renameQuestion } from './renaming.js';

/** A question and what the environment returns for its queries. */
export interface Exercise {
  question: Question;
  lookup: Lookup;
}

/** What exercises are drawn from. */
export interface ExerciseSource {
  retriever: Bm25Retriever;
  groups: readonly QuestionGroup[];
  factPassages: readonly FactPassage[];
  names: NameMaker;
}

export interface ExerciseOptions {
  /** Passages a query, drawn for each row, so that the policy reads few and many. */
  topKs: readonly number[];
  /** Share of exercises with invented names and numbers. */
  renamedShare: number;
}

/** Questions of one shape and number of sub-questions. */
export interface QuestionGroup {
  questions: readonly Question[];
  isParallelizable: boolean;
  /** How often it is drawn, relative to the others. */
  weight: number;
}

/** Long transcripts cost more and teach little that shorter ones do not. */
const GROUP_WEIGHTS: Record<string, number> = {
  'single_hop 1': 4,
  'sequential 2': 3,
  'sequential 3': 1,
  'sequential 4': 0.5,
  'parallelizable 2': 2,
  'parallelizable 3': 2,
  'parallelizable 4': 1.5,
  'parallelizable 5': 1.25,
};
const OTHER_GROUP_WEIGHT = 0.3;

export const isParallelizable = (question: Question): boolean =>
  questionShape(question.metadata.graph ?? []) === 'parallelizable';

export function groupQuestions(questions: readonly Question[]): QuestionGroup[] {
  const groups = group(
    questions,
    ({ metadata: { graph = [] } }) => `${questionShape(graph)} ${graph.length}`,
  );
  return [...groups].map(([key, some]) => ({
    questions: some,
    isParallelizable: isParallelizable(some[0]),
    weight: GROUP_WEIGHTS[key] ?? OTHER_GROUP_WEIGHT,
  }));
}

/** Draws an item with a probability proportional to its weight. */
export function weightedChoice<T>(items: readonly T[], weightOf: (item: T) => number, random: Random): T {
  let left = random.uniform() * sum(items, weightOf);
  return items.find((item) => (left -= weightOf(item)) < 0) ?? items[0];
}

/** A passage and the facts of training questions that it holds. */
export interface FactPassage {
  passage: Passage;
  facts: SubQuestion[];
}

export function factPassages(questions: readonly Question[], passages: readonly Passage[]): FactPassage[] {
  const byId = new Map(passages.map((passage) => [passage.id, passage]));
  // Which film of a director is asked for depends on its year, which the name of the attribute does not say.
  const nodes = questions
    .flatMap(({ metadata }) => metadata.graph ?? [])
    .filter(({ attribute }) => attribute !== 'film');
  const found = new Map<string, Map<string, SubQuestion>>();
  for (const node of nodes) {
    for (const id of node.evidence) {
      const facts = found.get(id) ?? new Map<string, SubQuestion>();
      found.set(id, facts.set(`${node.attribute} ${node.entity}`, node));
    }
  }
  return [...found].flatMap(([id, facts]) => {
    const passage = byId.get(id);
    return passage ? [{ passage, facts: [...facts.values()] }] : [];
  });
}

const drawQuestion = (groups: readonly QuestionGroup[], random: Random): Question =>
  random.choice(weightedChoice(groups, ({ weight }) => weight, random).questions);

/** A question as it is, with real passages. */
export function realExercise(
  { retriever, groups }: ExerciseSource,
  { topKs }: ExerciseOptions,
  random: Random,
): Exercise {
  const topK = random.choice(topKs);
  const question = drawQuestion(groups, random);
  return { question, lookup: (query) => passagesFor(retriever, query, topK) };
}

const passagesFor = (retriever: Bm25Retriever, query: string, topK: number): Passage[] =>
  retriever.search(query, topK).map(({ index }) => retriever.passages[index]);

/** A question, most often with invented names and numbers. */
export function practiceExercise(
  { retriever, names, ...source }: ExerciseSource,
  options: ExerciseOptions,
  random: Random,
  groups = source.groups,
): Exercise {
  const original = drawQuestion(groups, random);
  const topK = random.choice(options.topKs);
  if (random.uniform() >= options.renamedShare)
    return { question: original, lookup: (query) => passagesFor(retriever, query, topK) };
  const { question, renamePassage } = renameQuestion(original, names, random);
  const queries = original.metadata.graph!.map((node) => node.query);
  const queryOf = new Map(question.metadata.graph!.map((node, i) => [node.query, queries[i]]));
  return {
    question,
    lookup: (query) => passagesFor(retriever, queryOf.get(query) ?? query, topK).map(renamePassage),
  };
}

const MOST_PASSAGES_READ = 3;

/** Facts of a few passages, most often with invented names and numbers. */
export function readingExercise(
  { factPassages, names }: ExerciseSource,
  { renamedShare }: ExerciseOptions,
  random: Random,
): { facts: SubQuestion[]; passages: Passage[] } {
  const drawn = Array.from({ length: 1 + random.integer(MOST_PASSAGES_READ) }, () =>
    random.choice(factPassages),
  );
  const passages = [...new Set(drawn.map(({ passage }) => passage))];
  const facts = random.shuffle([...new Set(drawn.flatMap((one) => one.facts))]);
  if (random.uniform() >= renamedShare) return { facts, passages };
  const asked: Question = { id: '', question: '', goldenAnswers: [], metadata: { graph: facts } };
  const { question, renamePassage } = renameQuestion(asked, names, random);
  return { facts: question.metadata.graph!, passages: passages.map(renamePassage) };
}
