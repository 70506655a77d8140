/**
 * What the supervised warm-up reads. Skill is drilled apart from habit: whole transcripts, copying and comparing under the
 * drill prompt, which reinforcement never uses; and full demonstrations under the prompts that it does use, whose habit is
 * to search one by one.
 */
import { questionShape, type Passage, type Question, type SubQuestion } from '../../data/question.js';
import type { Random } from '../../random.js';
import type { Bm25Retriever } from '../../retrieval/bm25.js';
import { buildPrompt } from '../../text/prompts.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import {
  copyDrill,
  demonstrate,
  readDrill,
  verdictDrill,
  type DemonstrationOptions,
  type Lookup,
  type Piece,
} from './demonstrations.js';
import { createNameMaker, nameParts, type NameMaker } from './names.js';
import { renameQuestion } from './renaming.js';
import type { Sequence } from '../../training/sequences.js';
import { encodePieces } from '../../training/supervised.js';

/** Share of each kind of row; they are normalised to sum to 1. */
export interface WarmUpMix {
  /** Plain passages, as language modelling. */
  passages: number;
  /** A list of names twice, the second time with a loss: the shortest way to learn to copy. */
  repeat: number;
  /** The same with words drawn from all passages: nothing but copying helps to foretell them. */
  words: number;
  /** A few passages, then their facts one by one: the shortest way to learn to read. */
  read: number;
  /** Question to first search, under the drill prompt. */
  copy: number;
  /** Recap to conclusion, under the drill prompt. */
  verdict: number;
  /** Whole transcripts under the drill prompt, parallel where possible. */
  practice: number;
  /** Whole transcripts under Search-R1's prompt, all sequential. */
  sequentialHabit: number;
  /** Whole transcripts under the parallel prompt, `parallelShare` of the parallelizable ones parallel. */
  parallelHabit: number;
  /** Question and answer under the prompt without search. */
  direct: number;
  /** A prompt that searches, followed by a passage: a base model that goes on writing instead of answering. */
  ramble: number;
}

/** No rows at all, to be filled in. */
export const EMPTY_MIX: WarmUpMix = {
  passages: 0,
  repeat: 0,
  words: 0,
  read: 0,
  copy: 0,
  verdict: 0,
  practice: 0,
  sequentialHabit: 0,
  parallelHabit: 0,
  direct: 0,
  ramble: 0,
};

export interface WarmUpOptions {
  mix: WarmUpMix;
  rowsPerStep: number;
  /** Passages a query, drawn for each row, so that the policy reads few and many. */
  topKs: readonly number[];
  maxSearchTurns: number;
  contextWeight: number;
  recapWeight: number;
  /** Share of drill rows with invented names and numbers. */
  renamedShare: number;
  /** Share of the invented names, and of the words to copy, that are unusual; none by default. */
  unusualShare?: number;
  /** Share of the parallelizable questions shown decomposed under the parallel prompt. */
  parallelShare: number;
}

export interface WarmUpData {
  /** Training questions with dependency graphs. */
  questions: readonly Question[];
  /** Passages for language modelling: none that only held-out questions need. */
  passages: readonly Passage[];
  retriever: Bm25Retriever;
  tokenizer: Tokenizer;
}

/** Passages that no held-out question has as evidence. */
export function trainingPassages(passages: readonly Passage[], questions: readonly Question[]): Passage[] {
  const evidence = (kept: boolean): Set<string> =>
    new Set(
      questions
        .filter((q) => (q.split === 'train') === kept)
        .flatMap((q) => (q.metadata.graph ?? []).flatMap((node) => node.evidence)),
    );
  const train = evidence(true);
  const heldOut = evidence(false);
  return passages.filter((p) => train.has(p.id) || !heldOut.has(p.id));
}

type Kind = keyof WarmUpMix;

interface QuestionGroup {
  questions: Question[];
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

/** Questions by shape and number of sub-questions. */
function groupQuestions(questions: readonly Question[]): {
  all: QuestionGroup[];
  comparisons: QuestionGroup[];
} {
  const groups = new Map<string, QuestionGroup>();
  for (const question of questions) {
    const graph = question.metadata.graph ?? [];
    const key = `${questionShape(graph)} ${graph.length}`;
    const group = groups.get(key) ?? { questions: [], weight: GROUP_WEIGHTS[key] ?? OTHER_GROUP_WEIGHT };
    group.questions.push(question);
    groups.set(key, group);
  }
  const comparisons = [...groups]
    .filter(([key]) => key.startsWith('parallelizable'))
    .map(([, group]) => group);
  return { all: [...groups.values()], comparisons };
}

/** Draws a group by weight, then one of its questions. */
function drawQuestion(random: Random, groups: readonly QuestionGroup[]): Question {
  let left = random.uniform() * groups.reduce((sum, { weight }) => sum + weight, 0);
  return random.choice((groups.find(({ weight }) => (left -= weight) < 0) ?? groups[0]).questions);
}

/** Draws a kind of row by the shares of the mix. */
function drawKind(mix: WarmUpMix, random: Random): Kind {
  const kinds = Object.entries(mix) as [Kind, number][];
  let left = random.uniform() * kinds.reduce((sum, [, share]) => sum + share, 0);
  return (kinds.find(([, share]) => (left -= share) < 0) ?? kinds[0])[0];
}

/** A passage and the facts of training questions that it holds. */
interface FactPassage {
  passage: Passage;
  facts: SubQuestion[];
}

function factPassages(questions: readonly Question[], passages: readonly Passage[]): FactPassage[] {
  const byId = new Map(passages.map((passage) => [passage.id, passage]));
  const found = new Map<string, Map<string, SubQuestion>>();
  // Which film of a director is asked for depends on its year, which the name of the attribute does not say.
  const nodes = questions
    .flatMap(({ metadata }) => metadata.graph ?? [])
    .filter(({ attribute }) => attribute !== 'film');
  for (const node of nodes) {
    for (const id of node.evidence) {
      const facts = found.get(id) ?? new Map<string, SubQuestion>();
      found.set(id, facts.set(`${node.attribute} ${node.entity}`, node));
    }
  }
  return [...found]
    .filter(([id]) => byId.has(id))
    .map(([id, facts]) => ({ passage: byId.get(id)!, facts: [...facts.values()] }));
}

interface WarmUpSource extends WarmUpData {
  factPassages: FactPassage[];
  groups: ReturnType<typeof groupQuestions>;
  names: NameMaker;
  /** All words of the passages. */
  words: string[];
}

/** What the environment returns, with names replaced where a question's names were. */
function lookupOf(
  { retriever }: WarmUpData,
  topK: number,
  rename: (passage: Passage) => Passage = (p) => p,
  queryOf: ReadonlyMap<string, string> = new Map(),
): Lookup {
  return (query) =>
    retriever.search(queryOf.get(query) ?? query, topK).map(({ index }) => rename(retriever.passages[index]));
}

interface Exercise {
  question: Question;
  lookup: Lookup;
}

/** A question as it is, with real passages. */
function realExercise(source: WarmUpSource, options: WarmUpOptions, random: Random): Exercise {
  const topK = random.choice(options.topKs);
  return { question: drawQuestion(random, source.groups.all), lookup: lookupOf(source, topK) };
}

/** A question, most often with invented names and numbers. */
function practiceExercise(
  source: WarmUpSource,
  options: WarmUpOptions,
  random: Random,
  from: QuestionGroup[] = source.groups.all,
): Exercise {
  const original = drawQuestion(random, from);
  const topK = random.choice(options.topKs);
  if (random.uniform() >= options.renamedShare) return { question: original, lookup: lookupOf(source, topK) };
  const { question, renamePassage } = renameQuestion(original, source.names, random);
  const queries = original.metadata.graph!.map((node) => node.query);
  const queryOf = new Map(question.metadata.graph!.map((node, i) => [node.query, queries[i]]));
  return { question, lookup: lookupOf(source, topK, renamePassage, queryOf) };
}

const MOST_PASSAGES_READ = 3;

/** Facts of a few passages, most often with invented names and numbers. */
function readingExercise(
  source: WarmUpSource,
  options: WarmUpOptions,
  random: Random,
): { facts: SubQuestion[]; passages: Passage[] } {
  const drawn = Array.from({ length: 1 + random.integer(MOST_PASSAGES_READ) }, () =>
    random.choice(source.factPassages),
  );
  const passages = [...new Set(drawn.map(({ passage }) => passage))];
  const facts = random.shuffle([...new Set(drawn.flatMap((one) => one.facts))]);
  if (random.uniform() >= options.renamedShare) return { facts, passages };
  const asked: Question = {
    id: '',
    question: '',
    goldenAnswers: [],
    split: 'train',
    metadata: { graph: facts },
  };
  const { question, renamePassage } = renameQuestion(asked, source.names, random);
  return { facts: question.metadata.graph!, passages: passages.map(renamePassage) };
}

const isParallelizable = (question: Question): boolean =>
  questionShape(question.metadata.graph ?? []) === 'parallelizable';

/** A list that is given and then copied. */
function saidTwice(length: number, draw: () => string): Piece[] {
  const list = `${Array.from({ length }, () => ` ${draw()}`).join('')}\n`;
  return [
    { text: list, weight: 0 },
    { text: list, weight: 1 },
  ];
}

/** One row of each kind. */
function rowMakers(source: WarmUpSource, options: WarmUpOptions): Record<Kind, (random: Random) => Piece[]> {
  const { groups, passages } = source;
  const { contextWeight, recapWeight, maxSearchTurns } = options;
  const show = (
    { question, lookup }: Exercise,
    prompt: DemonstrationOptions['prompt'],
    mode: DemonstrationOptions['mode'],
  ): Piece[] =>
    demonstrate(question, lookup, {
      prompt,
      mode,
      maxSearchTurns: mode === 'parallel' ? Infinity : maxSearchTurns,
      contextWeight,
      recapWeight,
    });
  return {
    passages: (r) => [{ text: `${r.choice(passages).contents}\n`, weight: 1 }],
    repeat: (r) => saidTwice(3 + r.integer(6), () => source.names.name(r)),
    words: (r) => saidTwice(8 + r.integer(25), () => source.names.word(source.words, r)),
    read: (r) => {
      const { facts, passages } = readingExercise(source, options, r);
      return readDrill(facts, passages, { contextWeight, recapWeight });
    },
    copy: (r) => {
      const from = r.uniform() < 0.8 ? groups.comparisons : groups.all;
      return copyDrill(practiceExercise(source, options, r, from).question, {
        prompt: 'drill',
        contextWeight,
      });
    },
    verdict: (r) =>
      verdictDrill(practiceExercise(source, options, r, groups.comparisons).question, {
        prompt: 'drill',
        contextWeight,
        recapWeight,
      }),
    practice: (r) => {
      const exercise = practiceExercise(source, options, r);
      return show(exercise, 'drill', isParallelizable(exercise.question) ? 'parallel' : 'sequential');
    },
    sequentialHabit: (r) => show(realExercise(source, options, r), 'search-r1', 'sequential'),
    parallelHabit: (r) => {
      const exercise = realExercise(source, options, r);
      const isParallel = isParallelizable(exercise.question) && r.uniform() < options.parallelShare;
      return show(exercise, 'parallel', isParallel ? 'parallel' : 'sequential');
    },
    direct: (r) => show(realExercise(source, options, r), 'r1', 'direct'),
    ramble: (r) => {
      const { question } = realExercise(source, options, r);
      const prompt = buildPrompt(r.choice(['search-r1', 'parallel']), question.question, { form: 'short' });
      return [
        { text: prompt, weight: contextWeight },
        { text: `${r.choice(passages).contents}<eos>`, weight: 1 },
      ];
    },
  };
}

const MOST_TRIES = 20;

/**
 * A function that draws the rows of a step; the same step of the same seed gives the same rows.
 * @param maxTokens rows that are longer are drawn again
 */
export function createWarmUpSampler(
  data: WarmUpData,
  random: Random,
  maxTokens: number,
): (step: number, options: WarmUpOptions) => Sequence[] {
  const parts = nameParts(data.questions, data.passages, data.tokenizer);
  const source = {
    ...data,
    factPassages: factPassages(data.questions, data.retriever.passages),
    groups: groupQuestions(data.questions),
    words: [...new Set(data.passages.flatMap(({ contents }) => contents.match(/\p{L}+/gu) ?? []))],
  };
  return (step, options) => {
    const stepRandom = random.fork(`step ${step}`);
    const names = createNameMaker(parts, options.unusualShare ?? 0);
    const makers = rowMakers({ ...source, names }, options);
    const drawRow = (triesLeft = MOST_TRIES): Sequence => {
      const row = encodePieces(makers[drawKind(options.mix, stepRandom)](stepRandom), data.tokenizer);
      if (row.tokenIds.length <= maxTokens) return row;
      if (triesLeft > 0) return drawRow(triesLeft - 1);
      throw new Error(`Expected rows of at most ${maxTokens} tokens, but got one of ${row.tokenIds.length}.`);
    };
    return Array.from({ length: options.rowsPerStep }, () => drawRow());
  };
}
