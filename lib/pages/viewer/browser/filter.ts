/** Which trajectories are listed, and which belong together. */
import { rollup, sort } from 'd3-array';
import type { ViewerData, ViewerLabel, ViewerTrajectory } from '../data.js';

interface Facet {
  key: string;
  label: string;
  /** A trajectory is listed if one of its values is selected. */
  values: (trajectory: ViewerTrajectory) => string[];
  valueTitle?: (value: string, data: ViewerData) => string;
}

export const FACETS: readonly Facet[] = [
  {
    key: 'benchmark',
    label: 'Benchmark',
    values: ({ metadata }) => [metadata.benchmark ?? 'unknown'],
  },
  { key: 'method', label: 'Method', values: ({ method }) => [method] },
  { key: 'type', label: 'Benchmark type', values: ({ metadata }) => [metadata.type ?? 'unknown'] },
  {
    key: 'shape',
    label: 'Question type',
    values: ({ questionType }) => [questionType ?? 'unknown'],
    valueTitle: (value) => value.replace('_', ' '),
  },
  { key: 'right', label: 'Answer', values: ({ exactMatch }) => [exactMatch ? 'right' : 'wrong'] },
  { key: 'turns', label: 'Search turns', values: ({ numTurns }) => [String(numTurns)] },
  { key: 'step', label: 'Step', values: ({ step }) => (step === undefined ? [] : [String(step)]) },
];

/**
 * The selected value of each facet, comma-separated `labels` that must all hold, and
 * words to `search`; absent or empty means any.
 */
export type Criteria = Readonly<Record<string, string>>;

const countEach = <T>(values: readonly T[]): Map<T, number> =>
  rollup(
    values,
    ({ length }) => length,
    (value) => value,
  );

/** A facet's values in order, with the number of trajectories that have them. */
export function facetValues({ trajectories }: ViewerData, facet: Facet): [string, number][] {
  const counts = countEach(trajectories.flatMap(facet.values));
  return [...counts].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
}

/** The labels of trajectories in table order, with the number of trajectories. */
export function labelCounts({ trajectories, labelTitles }: ViewerData): [ViewerLabel, number][] {
  const counts = countEach(trajectories.flatMap(({ labels }) => labels));
  const order = Object.keys(labelTitles) as ViewerLabel[];
  return order.flatMap((label) => (counts.has(label) ? [[label, counts.get(label)!]] : []));
}

/** Orders of the list besides the recorded one, by name. */
const ORDERS: Readonly<
  Record<string, { title: string; key: (trajectory: ViewerTrajectory) => number | string }>
> = {
  'reward-down': { title: 'highest reward', key: ({ rewards }) => -rewards.total },
  'reward-up': { title: 'lowest reward', key: ({ rewards }) => rewards.total },
  'turns-down': { title: 'most turns', key: ({ numTurns }) => -numTurns },
  'turns-up': { title: 'fewest turns', key: ({ numTurns }) => numTurns },
  labels: { title: 'most labels', key: ({ labels }) => -labels.length },
  question: { title: 'question, A to Z', key: ({ question }) => question },
  method: { title: 'method', key: ({ method }) => method },
};

export const ORDER_OPTIONS = Object.entries(ORDERS).map(([name, { title }]) => {
  return [name, title] as const;
});

/** Sorts items in an order of {@link ORDER_OPTIONS}; ties and unknown orders stay. */
export function orderItems(
  { trajectories }: ViewerData,
  items: readonly number[],
  order = '',
): readonly number[] {
  const key = Object.hasOwn(ORDERS, order) && ORDERS[order].key;
  return key ? sort(items, (i) => key(trajectories[i])) : items;
}

/** Splits a search into words; double quotes keep words together. */
export function searchWords(search: string): string[] {
  const words = [...search.toLowerCase().matchAll(/"([^"]+)"|[^\s"]+/g)];
  return words.map(([whole, quoted]) => quoted ?? whole);
}

/**
 * Returns a function from criteria to the indices of matching trajectories, in order.
 * Every word must occur in the question, its answers or a segment other than the prompt.
 */
export function createFilter({ trajectories }: ViewerData): (criteria: Criteria) => number[] {
  let texts: string[] | undefined; // filled by the first search
  const searchText = ({ questionId, question, goldenAnswers, segments }: ViewerTrajectory) => {
    const shown = segments.filter(({ kind }) => kind !== 'prompt').map(({ text }) => text);
    return [questionId, question, ...goldenAnswers, ...shown].join('\n').toLowerCase();
  };
  return ({ search = '', labels = '', ...selected }) => {
    const wanted = labels.split(',').filter(Boolean) as ViewerLabel[];
    const facets = FACETS.filter(({ key }) => selected[key]);
    const words = searchWords(search);
    if (words.length > 0) texts ??= trajectories.map(searchText);
    return [...trajectories.keys()].filter(
      (i) =>
        facets.every(({ key, values }) => values(trajectories[i]).includes(selected[key])) &&
        wanted.every((label) => trajectories[i].labels.includes(label)) &&
        words.every((word) => texts![i].includes(word)),
    );
  };
}

/** Method names in order of first occurrence. */
export function listMethods({ trajectories }: ViewerData): string[] {
  return [...new Set(trajectories.map(({ method }) => method))];
}

/** Trajectories for the same question, by id and text. */
function sameQuestion({ trajectories }: ViewerData, index: number): number[] {
  const { questionId, question } = trajectories[index];
  return [...trajectories.keys()].filter(
    (i) => trajectories[i].questionId === questionId && trajectories[i].question === question,
  );
}

/** Rollouts of the same question, method and step, including this one. */
export function findGroup(data: ViewerData, index: number): number[] {
  const { method, step } = data.trajectories[index];
  return sameQuestion(data, index).filter((i) => {
    const other = data.trajectories[i];
    return other.method === method && other.step === step;
  });
}

/** Another trajectory of `method` for the question, preferably of the same step. */
export function findPartner(data: ViewerData, index: number, method: string): number | null {
  const { trajectories } = data;
  const others = sameQuestion(data, index).filter(
    (i) => i !== index && trajectories[i].method === method,
  );
  const sameStep = others.find((i) => trajectories[i].step === trajectories[index].step);
  return sameStep ?? others.at(-1) ?? null;
}
