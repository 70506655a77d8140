/** Figures for the data card: counts, lengths and what a guess by template earns, all computed from the two files. */
import { ascending, rollup, sort } from 'd3-array';
import { questionShape, type Passage, type Question } from '../../data/question.js';
import { markdownTable } from '../markdown.js';

const SPLITS = ['train', 'dev', 'test'] as const;

type CountsBySplit = Record<string, number>;

export interface DataCard {
  passages: { count: number; minWords: number; medianWords: number; maxWords: number };
  questions: CountsBySplit;
  /** By benchmark and its own type. */
  benchmarks: Record<string, Record<string, CountsBySplit>>;
  shapes: Record<string, CountsBySplit>;
  /** By number of compared entities, by order (the answer is an entity) or same (yes or no). */
  comparisons: Record<string, { order: CountsBySplit; same: CountsBySplit }>;
  /** Distinct entities that the text of a split's questions names. */
  namedEntities: CountsBySplit;
  /** Distinct entities in test comparisons of a year. */
  testEntitiesComparedByYear: number;
  /**
   * Exact match of a guess that reads the template only: the most frequent answer of the template's train questions, for
   * a comparison by order the first entity named. `frequent` is the share of the most frequent answer in test.
   */
  guess: {
    test: number;
    benchmarks: Record<string, number>;
    templates: Record<string, { questions: number; guess: number; frequent: number }>;
  };
}

/** Computes the card of a mini-wiki. */
export function computeCard(passages: readonly Passage[], questions: readonly Question[]): DataCard {
  const lengths = passages.map(({ contents }) => contents.split(/\s+/).length).sort((a, b) => a - b);
  const comparisons = questions.filter(({ metadata }) => metadata.type === 'comparison');
  return {
    passages: {
      count: passages.length,
      minWords: lengths[0],
      medianWords: lengths[lengths.length >> 1],
      maxWords: lengths[lengths.length - 1],
    },
    questions: bySplit(questions),
    benchmarks: grouped(
      questions,
      ({ metadata }) => metadata.benchmark,
      (some) => grouped(some, ({ metadata }) => metadata.type, bySplit),
    ),
    shapes: grouped(questions, ({ metadata }) => questionShape(metadata.graph ?? []), bySplit),
    comparisons: grouped(
      comparisons,
      ({ metadata }) => String(metadata.graph?.length),
      (some) => ({
        order: bySplit(some.filter(({ metadata }) => metadata.operation?.kind !== 'same')),
        same: bySplit(some.filter(({ metadata }) => metadata.operation?.kind === 'same')),
      }),
    ),
    namedEntities: grouped(
      questions,
      ({ split }) => split,
      (some) => new Set(some.flatMap(namedEntities)).size,
    ),
    testEntitiesComparedByYear: new Set(comparisons.filter(isTestByYear).flatMap(namedEntities)).size,
    guess: guessBaseline(questions),
  };
}

/** The entities that the text of a question names: those of its independent sub-questions. */
export function namedEntities({ metadata }: Question): string[] {
  return (metadata.graph ?? []).filter(({ dependsOn }) => dependsOn.length === 0).map(({ entity }) => entity);
}

function isTestByYear({ split, metadata }: Question): boolean {
  return split === 'test' && /year$/i.test(metadata.operation?.attribute ?? '');
}

function bySplit(questions: readonly Question[]): CountsBySplit {
  return Object.fromEntries(
    SPLITS.map((split) => [split, questions.filter((question) => question.split === split).length]),
  );
}

/** Groups questions by a key, in the order of the keys, and maps each group. */
function grouped<T>(
  questions: readonly Question[],
  keyOf: (question: Question) => string | undefined,
  map: (questions: Question[]) => T,
): Record<string, T> {
  const groups = rollup(questions, map, (question) => keyOf(question) ?? '');
  return Object.fromEntries(sort(groups, ([key]) => key));
}

function guessBaseline(questions: readonly Question[]): DataCard['guess'] {
  const test = questions.filter(({ split }) => split === 'test');
  const train = questions.filter(({ split }) => split === 'train');
  const guesses = grouped(train, templateOf, (some) => mostFrequent(some).answer);
  const isRight = (question: Question): boolean => {
    const ordered = /^arg/.test(question.metadata.operation?.kind ?? '');
    const guess = ordered ? namedEntities(question)[0] : guesses[templateOf(question)];
    return question.goldenAnswers.includes(guess);
  };
  const accuracy = (some: readonly Question[]): number => rounded(some.filter(isRight).length / some.length);
  return {
    test: accuracy(test),
    benchmarks: grouped(test, ({ metadata }) => metadata.benchmark, accuracy),
    templates: grouped(test, templateOf, (some) => ({
      questions: some.length,
      guess: accuracy(some),
      frequent: rounded(mostFrequent(some).count / some.length),
    })),
  };
}

const templateOf = ({ metadata }: Question): string => metadata.template ?? '';

/** The most frequent first answer; of equally frequent ones the first in the alphabet. */
function mostFrequent(questions: readonly Question[]): { answer: string; count: number } {
  const counts = rollup(
    questions,
    (some) => some.length,
    ({ goldenAnswers }) => goldenAnswers[0],
  );
  const [[answer, count]] = sort(counts, ([a, m], [b, n]) => n - m || ascending(a, b));
  return { answer, count };
}

function rounded(share: number): number {
  return Math.round(share * 1000) / 1000;
}

/** The generated part of the data card's page. */
export function formatCard(card: DataCard, versions: Record<string, string>): string {
  const counts = (row: CountsBySplit): string[] => SPLITS.map((split) => String(row[split]));
  const benchmarkRows = Object.entries(card.benchmarks).flatMap(([benchmark, types]) =>
    Object.entries(types).map(([type, row]) => [benchmark, type, ...counts(row)]),
  );
  const comparisonRows = Object.entries(card.comparisons).map(([size, { order, same }]) => [
    size,
    ...SPLITS.map((split) => `${order[split]} + ${same[split]}`),
  ]);
  const templateRows = Object.entries(card.guess.templates).map(([template, row]) => [
    template,
    ...[row.questions, row.guess, row.frequent].map(String),
  ]);
  const { passages, guess } = card;
  return [
    `${passages.count} passages of ${passages.minWords} to ${passages.maxWords} words (median ${passages.medianWords}, title included); ` +
      `questions: ${SPLITS.map((split) => `${card.questions[split]} ${split}`).join(', ')}. Entities named in questions: ` +
      `${SPLITS.map((split) => `${card.namedEntities[split]} in ${split}`).join(', ')}, none in two splits. ` +
      `Test comparisons of a year draw on ${card.testEntitiesComparedByYear} entities.`,
    `Source packages: ${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}.`,
    markdownTable(['Benchmark style', 'Type', ...SPLITS], benchmarkRows),
    'Comparisons by number of entities, by order + yes/no:',
    markdownTable(['Entities', ...SPLITS], comparisonRows),
    'Shape computed from the dependency graph:',
    markdownTable(
      ['Shape', ...SPLITS],
      Object.entries(card.shapes).map(([shape, row]) => [shape, ...counts(row)]),
    ),
    `A guess that reads the template only (the most frequent train answer, or the first entity of a comparison by order) ` +
      `has an exact match of ${guess.test} in test: ${Object.entries(guess.benchmarks)
        .map(([name, share]) => `${name} ${share}`)
        .join(', ')}. ` +
      `By template, with the share of the most frequent test answer:`,
    markdownTable(['Template', 'Test questions', 'Guess', 'Most frequent'], templateRows),
  ].join('\n\n');
}
