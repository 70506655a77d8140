/**
 * The rows that the supervised warm-up reads. Skill is drilled apart from habit: whole transcripts, copying and comparing under
 * the drill prompt, which reinforcement never uses; and full demonstrations under the prompts that it does use, whose habit is
 * to search one by one.
 */
import type { Passage, Question } from '../../data/question.js';
import type { Random } from '../../random.js';
import type { Bm25Retriever } from '../../retrieval/bm25.js';
import { buildPrompt } from '../../text/prompts.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import type { Sequence } from '../../training/sequences.js';
import { encodePieces } from '../../training/supervised.js';
import {
  copyDrill,
  demonstrate,
  readDrill,
  verdictDrill,
  type DemonstrationOptions,
  type Piece,
} from './demonstrations.js';
import {
  factPassages,
  groupQuestions,
  isParallelizable,
  practiceExercise,
  readingExercise,
  realExercise,
  weightedChoice,
  type Exercise,
  type ExerciseOptions,
  type ExerciseSource,
} from './exercises.js';
import { createNameMaker, nameParts } from './names.js';

/** Kinds of row; {@link rowMakers} says what each is. */
export const ROW_KINDS = [
  'passages',
  'repeat',
  'words',
  'read',
  'copy',
  'verdict',
  'practice',
  'sequentialHabit',
  'parallelHabit',
  'direct',
  'continuation',
] as const;
export type RowKind = (typeof ROW_KINDS)[number];

export interface WarmUpOptions extends ExerciseOptions {
  /** Share of each kind of row, none of those left out; they are normalised to sum to 1. */
  mix: Partial<Record<RowKind, number>>;
  rowsPerStep: number;
  maxSearchTurns: number;
  contextWeight: number;
  recapWeight: number;
  /** Share of the invented names, and of the words to copy, that are unusual. */
  unusualShare: number;
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

interface RowSource extends ExerciseSource {
  passages: readonly Passage[];
  /** All words of the passages. */
  words: readonly string[];
}

/** A list that is given and then copied, the second time with a loss: the shortest way to learn to copy. */
function saidTwice(length: number, draw: () => string): Piece[] {
  const list = `${Array.from({ length }, () => ` ${draw()}`).join('')}\n`;
  return [
    { text: list, weight: 0 },
    { text: list, weight: 1 },
  ];
}

/** One row of each kind. */
function rowMakers(source: RowSource, options: WarmUpOptions): Record<RowKind, (random: Random) => Piece[]> {
  const { passages, names, words, groups } = source;
  const comparisons = groups.filter((group) => group.isParallelizable);
  const { contextWeight, recapWeight, maxSearchTurns } = options;
  const drill = { prompt: 'drill', contextWeight, recapWeight } as const;
  const show = (
    { question, lookup }: Exercise,
    prompt: DemonstrationOptions['prompt'],
    mode: DemonstrationOptions['mode'],
  ): Piece[] => {
    const turns = mode === 'parallel' ? Infinity : maxSearchTurns;
    return demonstrate(question, lookup, { prompt, mode, maxSearchTurns: turns, contextWeight, recapWeight });
  };
  return {
    /** Plain passages, as language modelling. */
    passages: (r) => [{ text: `${r.choice(passages).contents}\n`, weight: 1 }],
    /** A list of names twice. */
    repeat: (r) => saidTwice(3 + r.integer(6), () => names.name(r)),
    /** The same with words drawn from all passages: nothing but copying helps to predict them. */
    words: (r) => saidTwice(8 + r.integer(25), () => names.word(words, r)),
    /** A few passages, then their facts one by one: the shortest way to learn to read. */
    read: (r) => {
      const { facts, passages } = readingExercise(source, options, r);
      return readDrill(facts, passages, drill);
    },
    /** Question to first search, under the drill prompt. */
    copy: (r) => {
      const from = r.uniform() < 0.8 ? comparisons : groups;
      return copyDrill(practiceExercise(source, options, r, from).question, drill);
    },
    /** Recap to conclusion, under the drill prompt. */
    verdict: (r) => verdictDrill(practiceExercise(source, options, r, comparisons).question, drill),
    /** Whole transcripts under the drill prompt, parallel where possible. */
    practice: (r) => {
      const exercise = practiceExercise(source, options, r);
      return show(exercise, 'drill', isParallelizable(exercise.question) ? 'parallel' : 'sequential');
    },
    /** Whole transcripts under Search-R1's prompt, all sequential. */
    sequentialHabit: (r) => show(realExercise(source, options, r), 'search-r1', 'sequential'),
    /** Whole transcripts under the parallel prompt, `parallelShare` of the parallelizable ones parallel. */
    parallelHabit: (r) => {
      const exercise = realExercise(source, options, r);
      const isParallel = isParallelizable(exercise.question) && r.uniform() < options.parallelShare;
      return show(exercise, 'parallel', isParallel ? 'parallel' : 'sequential');
    },
    /** Question and answer under the prompt without search. */
    direct: (r) => show(realExercise(source, options, r), 'r1', 'direct'),
    /** A prompt that searches, followed by a passage: a base model that goes on writing instead of answering. */
    continuation: (r) => {
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
 * @param maxTokens rows that are longer are resampled
 * @throws Error from the function that is returned, when row after row is too long
 */
export function createWarmUpSampler(
  { questions, passages, retriever, tokenizer }: WarmUpData,
  random: Random,
  maxTokens: number,
): (step: number, options: WarmUpOptions) => Sequence[] {
  const parts = nameParts(questions, passages, tokenizer);
  const source = {
    passages,
    retriever,
    factPassages: factPassages(questions, retriever.passages),
    groups: groupQuestions(questions),
    words: [...new Set(passages.flatMap(({ contents }) => contents.match(/\p{L}+/gu) ?? []))],
  };
  return (step, options) => {
    const stepRandom = random.fork(`step ${step}`);
    const names = createNameMaker(parts, options.unusualShare);
    const makers = rowMakers({ ...source, names }, options);
    const drawRow = (triesLeft = MOST_TRIES): Sequence => {
      const kind = weightedChoice(ROW_KINDS, (kind) => options.mix[kind] ?? 0, stepRandom);
      const row = encodePieces(makers[kind](stepRandom), tokenizer);
      if (row.tokenIds.length <= maxTokens) return row;
      if (triesLeft > 0) return drawRow(triesLeft - 1);
      throw new Error(`Expected rows of at most ${maxTokens} tokens, but got one of ${row.tokenIds.length}.`);
    };
    return Array.from({ length: options.rowsPerStep }, () => drawRow());
  };
}
