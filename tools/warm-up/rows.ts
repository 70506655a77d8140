/**
 * The rows of the supervised warm-up, about practice worlds: they have the grammar of the
 * small world and their own things, so that nothing of the small world itself is seen.
 * Skills are drilled separately from habits: reading, comparing and copying with the
 * drill prompt, which RL never uses, and full demonstrations with the prompts that RL
 * uses.
 */
import { range } from 'd3-array';
import type { Passage } from '../../lib/data/passage.js';
import { graphQuestionType, type Question } from '../../lib/data/question.js';
import type { Random } from '../../lib/random.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { TITLE_WEIGHT } from '../../lib/retrieval/retrievers.js';
import { buildPrompt } from '../../lib/text/prompts.js';
import type { Tokenizer } from '../../lib/text/tokenizer/tokenizer.js';
import { encodePieces, type WeightedText, type Sequence } from '../../lib/training/sequences.js';
import {
  createQuestionMaker,
  makeNode,
  type Draft,
  type QuestionMaker,
} from '../small-world/questions.js';
import { makeWorld, NUMBERS, YEARS, type World } from '../small-world/world.js';
import {
  copyDrill,
  demonstrate,
  drawQueryStyle,
  readDrill,
  verdictDrill,
  type DemonstrationOptions,
  type Lookup,
  weightedChoice,
} from './demonstrations.js';

/** Kinds of row, described in {@link rowMakers}. */
export const ROW_KINDS = [
  'passages',
  'repeat',
  'sort',
  'read',
  'copy',
  'verdict',
  'skill',
  'drillHabit',
  'sequentialHabit',
  'parallelHabit',
  'direct',
  'continuation',
  'find',
  'hastyHabit',
  'hastyParallelHabit',
  'hybridHabit',
  'pairedHabit',
] as const;
type RowKind = (typeof ROW_KINDS)[number];

export interface WarmUpOptions {
  /** Shares of the kinds of row, normalised; kinds left out do not occur. */
  mix: Partial<Record<RowKind, number>>;
  rowsPerStep: number;
  /** Maximum length of a list to copy. */
  mostRepeated: number;
  /** Passages per query, drawn for each row. */
  topKs: readonly number[];
  maxSearchTurns: number;
  retryShare: number;
  contextWeight: number;
  recapWeight: number;
  /** Share of parallelizable questions that are decomposed with the parallel prompt. */
  parallelShare: number;
}

/** How often each sort is drawn. Long transcripts teach little for their cost. */
const QUESTION_SORTS: readonly {
  weight: number;
  draw: (make: QuestionMaker, random: Random) => Draft;
}[] = [
  ...[4, 3, 1, 0.5].map((weight, i) => ({
    weight,
    draw: (make: QuestionMaker, random: Random) => make.chain(i + 1, 'train', random),
  })),
  ...[2.5, 1.5, 1.25, 1].map((weight, i) => ({
    weight,
    draw: (make: QuestionMaker, random: Random) => make.ordered(i + 2, 1, 'train', random),
  })),
  { weight: 0.6, draw: (make, random) => make.ordered(2, 2, 'train', random) },
];
const COMPARISONS = QUESTION_SORTS.slice(4);
const HYBRIDS = QUESTION_SORTS.slice(-1);

const isParallelizable = ({ metadata }: Question): boolean =>
  graphQuestionType(metadata.graph ?? []) === 'parallelizable';

/** A practice world, with what rows are drawn from. */
interface Practice extends World {
  make: QuestionMaker;
  search: (query: string, topK: number) => Passage[];
  passageOf: ReadonlyMap<string, Passage>;
}

const PRACTICE_SIZE = 60;

function createPractice(random: Random): Practice {
  const world = makeWorld(random, { train: PRACTICE_SIZE });
  const retriever = createBm25Retriever(world.passages, { titleWeight: TITLE_WEIGHT });
  return {
    ...world,
    make: createQuestionMaker(world.things),
    search: (query, topK) =>
      retriever.search(query, topK).map(({ index }) => world.passages[index]),
    passageOf: new Map(world.passages.map((passage) => [passage.id, passage])),
  };
}

/** A list given, then copied with a loss: the shortest way to learn to copy. */
function repeatList(names: readonly string[]): WeightedText[] {
  const list = `${names.map((name) => ` ${name}`).join('')}\n`;
  return [
    { text: list, weight: 0 },
    { text: list, weight: 1 },
  ];
}

const MOST_READ = 14;

/** Share of hasty demonstrations that search several times; as many are decomposed. */
const UNHURRIED_SHARE = 0.1;

/** Makers of one row of each kind. */
function rowMakers(
  practice: Practice,
  options: WarmUpOptions,
): Record<RowKind, (random: Random) => WeightedText[]> {
  const { make, passages, search, passageOf, things } = practice;
  const { contextWeight, recapWeight, maxSearchTurns, retryShare } = options;
  const drill = { prompt: 'drill', contextWeight, recapWeight };
  const draw = (random: Random, sorts = QUESTION_SORTS): Question => ({
    id: 'practice',
    ...weightedChoice(sorts, ({ weight }) => weight, random).draw(make, random),
  });
  const found = (random: Random): Lookup => {
    const topK = random.choice(options.topKs);
    return (query) => search(query, topK);
  };
  /** A lookup that always finds the evidence. */
  const lookupEvidence = (random: Random): Lookup => {
    const lookup = found(random);
    return (query, node) => {
      const results = lookup(query, node);
      if (results.some(({ id }) => node.evidence.includes(id))) return results;
      const at = random.integer(Math.max(1, results.length));
      return [...results.slice(0, at), passageOf.get(node.evidence[0])!, ...results.slice(at + 1)];
    };
  };
  const show = (
    random: Random,
    prompt: string,
    modeOf: (question: Question) => DemonstrationOptions['mode'],
    { lookup = found(random), sorts = QUESTION_SORTS } = {},
  ): WeightedText[] => {
    const question = draw(random, sorts);
    const how = { maxSearchTurns, retryShare, contextWeight, recapWeight };
    return demonstrate(question, lookup, { ...how, prompt, mode: modeOf(question) }, random);
  };
  const sometimesParallel = (random: Random, share: number) => (question: Question) =>
    isParallelizable(question) && random.uniform() < share ? 'parallel' : 'sequential';
  const hasty = (random: Random, decomposedShare: number) => (question: Question) => {
    const share = random.uniform();
    if (share < UNHURRIED_SHARE) return 'sequential';
    return isParallelizable(question) && share < UNHURRIED_SHARE + decomposedShare
      ? 'parallel'
      : 'compound';
  };
  const names = (random: Random): string[] =>
    range(2 + random.integer(options.mostRepeated - 1)).map(() => random.choice(things).name);
  return {
    /** Plain passages, as language modelling. */
    passages: (random) =>
      range(8).map(() => ({ text: `${random.choice(passages).contents}\n`, weight: 1 })),
    /** A list of names twice: only copying helps to predict the second. */
    repeat: (random) => repeatList(names(random)),
    /** Numbers, then the same in order: the densest exercise in comparing. */
    sort: (random) => {
      const numbers = random
        .shuffle(random.choice([YEARS, NUMBERS]))
        .slice(0, 3 + random.integer(6));
      const sign = random.choice([1, -1]);
      const list = (some: readonly number[]): string => some.map((number) => ` ${number}`).join('');
      return [
        { text: `Practice.${list(numbers)} ${sign > 0 ? 'Least' : 'Most'} first:`, weight: 0 },
        { text: `${list(numbers.toSorted((a, b) => sign * (a - b)))}\n`, weight: 1 },
      ];
    },
    /** A recap, then whose each value was: from the extreme value to its name. */
    find: (random) => {
      const values = random.shuffle(random.choice([YEARS, NUMBERS]));
      const facts = names(random).map((name, i) => ({ name, value: values[i] }));
      const recap = facts.map(({ name, value }) => ` ${name} = ${value} ${name}`).join(';');
      return [
        { text: `Practice.${recap}.`, weight: 0 },
        ...random.shuffle(facts).flatMap(({ name, value }) => [
          { text: ` ${value}`, weight: 0 },
          { text: ` ${name}.`, weight: 1 },
        ]),
      ];
    },
    /** Passages about a few things, then what they say about them, and do not. */
    read: (random) => {
      const about = range(1 + random.integer(4)).map(() => random.choice(things));
      const asked = about.flatMap((thing) =>
        random
          .shuffle(Object.keys(thing.facts))
          .slice(0, 3)
          .map((attribute) => makeNode(thing, attribute)),
      );
      const lookup = random.uniform() < 0.6 ? lookupEvidence(random) : found(random);
      const results = asked.flatMap((node) => lookup(drawQueryStyle(random)(node), node));
      const shown = random.shuffle([...new Set(results)]).slice(0, MOST_READ);
      return readDrill(random.shuffle(asked), shown, drill);
    },
    /** Question to first search, with the drill prompt. */
    copy: (random) =>
      copyDrill(draw(random, random.uniform() < 0.8 ? COMPARISONS : QUESTION_SORTS), drill, random),
    /** Recap to conclusion, with the drill prompt. */
    verdict: (random) => verdictDrill(draw(random, COMPARISONS), drill),
    /** Whole transcripts with the drill prompt in which everything is found. */
    skill: (random) =>
      show(random, 'drill', sometimesParallel(random, 0.7), { lookup: lookupEvidence(random) }),
    /** The same with what is really found. */
    drillHabit: (random) => show(random, 'drill', sometimesParallel(random, 0.5)),
    /** Whole transcripts with Search-R1's prompt, all sequential. */
    sequentialHabit: (random) => show(random, 'search-r1', () => 'sequential'),
    /** With the parallel prompt, decomposing `parallelShare` of parallelizable ones. */
    parallelHabit: (random) =>
      show(random, 'parallel', sometimesParallel(random, options.parallelShare)),
    /** With Search-R1's prompt, nearly all with one query for everything. */
    hastyHabit: (random) => show(random, 'search-r1', hasty(random, 0)),
    /** The same with the parallel prompt. */
    hastyParallelHabit: (random) => show(random, 'parallel', hasty(random, UNHURRIED_SHARE)),
    /** Comparisons of chains with Search-R1's prompt, one chain after the other. */
    hybridHabit: (random) => show(random, 'search-r1', () => 'sequential', { sorts: HYBRIDS }),
    /** The same with the parallel prompt, both chains at once. */
    pairedHabit: (random) => show(random, 'parallel', () => 'parallel', { sorts: HYBRIDS }),
    /** Question and answer with the prompt without search. */
    direct: (random) => show(random, 'r1', () => 'direct'),
    /** A prompt followed by a passage: a base model continues the text. */
    continuation: (random) => [
      {
        text: buildPrompt(random.choice(['search-r1', 'parallel']), draw(random).question, {
          form: 'short',
        }),
        weight: contextWeight,
      },
      { text: random.choice(passages).contents, weight: 1 },
      { text: '<eos>', weight: 1, isToken: true },
    ],
  };
}

const MOST_TRIES = 50;
/** Number of steps with the same practice world. */
const STEPS_PER_WORLD = 50;

/**
 * Returns a function that draws the rows of a step; the same step and seed give the same
 * rows.
 * @param maxTokens longer rows are drawn again
 * @throws Error (from the returned function) if row after row is too long
 */
export function createWarmUpSampler(
  tokenizer: Tokenizer,
  random: Random,
  maxTokens: number,
): (step: number, options: WarmUpOptions) => Sequence[] {
  let current: { number: number; practice: Practice } | undefined;
  return (step, options) => {
    const number = Math.floor(step / STEPS_PER_WORLD);
    if (current?.number !== number)
      current = { number, practice: createPractice(random.fork(`world ${number}`)) };
    const stepRandom = random.fork(`step ${step}`);
    const makers = rowMakers(current.practice, options);
    const drawRow = (triesLeft = MOST_TRIES): Sequence => {
      const kind = weightedChoice(ROW_KINDS, (kind) => options.mix[kind] ?? 0, stepRandom);
      const row = encodePieces(makers[kind](stepRandom), tokenizer);
      if (row.tokenIds.length <= maxTokens) return row;
      if (triesLeft > 0) return drawRow(triesLeft - 1);
      throw new Error(
        `Expected rows of at most ${maxTokens} tokens, but got one of ${row.tokenIds.length}.`,
      );
    };
    return Array.from({ length: options.rowsPerStep }, () => drawRow());
  };
}
