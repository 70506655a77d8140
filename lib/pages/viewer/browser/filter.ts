/**
 * Which trajectories are listed: filters by what is known of them, and full-text search.
 */
import { rollup } from 'd3-array';
import type { ViewerData, ViewerQuestion, ViewerTrajectory } from '../data.js';
import { FAILURE_SIGNS, type FailureSign } from '../signs.js';

/** Something to filter by. */
export interface Facet {
  key: string;
  label: string;
  /** The values that a trajectory has; it is listed when the wanted one is among them. */
  valuesOf: (trajectory: ViewerTrajectory, question: ViewerQuestion) => string[];
  /** What a value is called. */
  nameOf?: (value: string) => string;
}

export const FACETS: readonly Facet[] = [
  { key: 'benchmark', label: 'Benchmark', valuesOf: (_, { benchmark }) => [benchmark] },
  { key: 'method', label: 'Method', valuesOf: ({ method }) => [method] },
  { key: 'type', label: 'Type', valuesOf: (_, { type }) => [type] },
  {
    key: 'shape',
    label: 'Shape',
    valuesOf: (_, { shape }) => [shape ?? 'unknown'],
    nameOf: (value) => value.replace('_', ' '),
  },
  { key: 'right', label: 'Answer', valuesOf: ({ exactMatch }) => [exactMatch ? 'right' : 'wrong'] },
  { key: 'turns', label: 'Search turns', valuesOf: ({ numTurns }) => [String(numTurns)] },
  { key: 'step', label: 'Step', valuesOf: ({ step }) => (step === null ? [] : [String(step)]) },
  {
    key: 'sign',
    label: 'Failure sign',
    valuesOf: ({ signs }) => (signs.length > 0 ? signs : ['none']),
    nameOf: (value) =>
      value in FAILURE_SIGNS ? FAILURE_SIGNS[value as FailureSign].title : 'None',
  },
];

/**
 * What is wanted: a value by the key of a facet, and as `search` words that must all
 * occur. What is absent or empty wants anything.
 */
export type Criteria = Readonly<Record<string, string>>;

/**
 * A facet's values with the number of trajectories that have them, numbers in order,
 * texts by the alphabet.
 */
export function facetValues(
  { trajectories, questions }: ViewerData,
  facet: Facet,
): [string, number][] {
  const values = trajectories.flatMap((trajectory) =>
    facet.valuesOf(trajectory, questions[trajectory.question]),
  );
  const counts = rollup(
    values,
    ({ length }) => length,
    (value) => value,
  );
  return [...counts].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
}

/** The words of a search; those in double quotes belong together. */
export function searchWords(search: string): string[] {
  const words = [...search.toLowerCase().matchAll(/"([^"]+)"|[^\s"]+/g)];
  return words.map(([whole, quoted]) => quoted ?? whole);
}

/**
 * A function from criteria to the indices of the trajectories that fit, in order. Each
 * word of a search is looked for in question, answers and all segments but the prompt;
 * texts that several trajectories share are scanned once.
 */
export function createFilter(data: ViewerData): (criteria: Criteria) => number[] {
  const { trajectories, questions } = data;
  const lower = () => ({
    texts: data.texts.map((text) => text.toLowerCase()),
    questions: questions.map((q) =>
      [q.id, q.question, ...q.goldenAnswers].join('\n').toLowerCase(),
    ),
  });
  let lowered: ReturnType<typeof lower> | null = null; // by the first search
  const finder = (word: string): ((trajectory: ViewerTrajectory) => boolean) => {
    lowered ??= lower();
    const inTexts = lowered.texts.map((text) => text.includes(word));
    const inQuestions = lowered.questions.map((text) => text.includes(word));
    return ({ question, segments }) =>
      inQuestions[question] || segments.some(([kind, text]) => kind !== 'prompt' && inTexts[text]);
  };
  return ({ search = '', ...values }) => {
    const wanted = FACETS.filter(({ key }) => values[key]);
    const finders = searchWords(search).map(finder);
    return [...trajectories.keys()].filter((i) => {
      const trajectory = trajectories[i];
      const question = questions[trajectory.question];
      return (
        wanted.every((facet) => facet.valuesOf(trajectory, question).includes(values[facet.key])) &&
        finders.every((found) => found(trajectory))
      );
    });
  };
}
