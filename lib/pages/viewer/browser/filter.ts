/** Which trajectories are listed, and which belong together. */
import { rollup } from 'd3-array';
import type { ViewerData, ViewerQuestion, ViewerTrajectory } from '../data.js';

export interface Facet {
  key: string;
  label: string;
  /** A trajectory is listed if one of its values is selected. */
  values: (trajectory: ViewerTrajectory, question: ViewerQuestion) => string[];
  valueTitle?: (value: string, data: ViewerData) => string;
}

export const FACETS: readonly Facet[] = [
  { key: 'benchmark', label: 'Benchmark', values: (_, { benchmark }) => [benchmark] },
  { key: 'method', label: 'Method', values: ({ method }) => [method] },
  { key: 'type', label: 'Benchmark type', values: (_, { type }) => [type] },
  {
    key: 'shape',
    label: 'Question type',
    values: (_, { questionType }) => [questionType ?? 'unknown'],
    valueTitle: (value) => value.replace('_', ' '),
  },
  { key: 'right', label: 'Answer', values: ({ exactMatch }) => [exactMatch ? 'right' : 'wrong'] },
  { key: 'turns', label: 'Search turns', values: ({ numTurns }) => [String(numTurns)] },
  { key: 'step', label: 'Step', values: ({ step }) => (step === null ? [] : [String(step)]) },
  {
    key: 'sign',
    label: 'Failure sign',
    values: ({ signs }) => (signs.length > 0 ? signs : ['none']),
    valueTitle: (value, { signTitles }) => signTitles[value] ?? 'None',
  },
];

/** The selected value of each facet, and words to `search`; absent or empty means any. */
export type Criteria = Readonly<Record<string, string>>;

/** A facet's values in order, with the number of trajectories that have them. */
export function facetValues(
  { trajectories, questions }: ViewerData,
  facet: Facet,
): [string, number][] {
  const values = trajectories.flatMap((trajectory) =>
    facet.values(trajectory, questions[trajectory.question]),
  );
  const counts = rollup(
    values,
    ({ length }) => length,
    (value) => value,
  );
  return [...counts].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
}

/** Words to search for; double quotes keep words together. */
export function searchWords(search: string): string[] {
  const words = [...search.toLowerCase().matchAll(/"([^"]+)"|[^\s"]+/g)];
  return words.map(([whole, quoted]) => quoted ?? whole);
}

/**
 * A function from criteria to the indices of matching trajectories, in order. Every word
 * must occur in the question, its answers or a segment other than the prompt.
 */
export function createFilter(data: ViewerData): (criteria: Criteria) => number[] {
  const { trajectories, questions } = data;
  const lower = () => ({
    texts: data.texts.map((text) => text.toLowerCase()),
    questions: questions.map((q) =>
      [q.id, q.question, ...q.goldenAnswers].join('\n').toLowerCase(),
    ),
  });
  let lowered: ReturnType<typeof lower> | undefined; // by the first search
  const matcher = (word: string): ((trajectory: ViewerTrajectory) => boolean) => {
    lowered ??= lower();
    const inTexts = lowered.texts.map((text) => text.includes(word));
    const inQuestions = lowered.questions.map((text) => text.includes(word));
    return ({ question, segments }) =>
      inQuestions[question] || segments.some(([kind, text]) => kind !== 'prompt' && inTexts[text]);
  };
  return ({ search = '', ...selected }) => {
    const facets = FACETS.filter(({ key }) => selected[key]);
    const matchers = searchWords(search).map(matcher);
    return [...trajectories.keys()].filter((i) => {
      const trajectory = trajectories[i];
      const question = questions[trajectory.question];
      return (
        facets.every((facet) => facet.values(trajectory, question).includes(selected[facet.key])) &&
        matchers.every((matches) => matches(trajectory))
      );
    });
  };
}

/** Method names in order of first occurrence. */
export function listMethods({ trajectories }: ViewerData): string[] {
  return [...new Set(trajectories.map(({ method }) => method))];
}

/** Trajectories whose question has the same id and text. */
function sameQuestion({ trajectories, questions }: ViewerData, index: number): number[] {
  const keys = questions.map(({ id, question }) => `${id}\n${question}`);
  const key = keys[trajectories[index].question];
  return [...trajectories.keys()].filter((i) => keys[trajectories[i].question] === key);
}

/** Rollouts of the same question, method and step, including this one. */
export function findGroup(data: ViewerData, index: number): number[] {
  const { method, step } = data.trajectories[index];
  return sameQuestion(data, index).filter((i) => {
    const other = data.trajectories[i];
    return other.method === method && other.step === step;
  });
}

/**
 * Another trajectory of `method` on the same question, at the same step if there is one.
 */
export function findPartner(data: ViewerData, index: number, method: string): number | null {
  const { trajectories } = data;
  const others = sameQuestion(data, index).filter(
    (i) => i !== index && trajectories[i].method === method,
  );
  const sameStep = others.find((i) => trajectories[i].step === trajectories[index].step);
  return sameStep ?? others.at(-1) ?? null;
}
