/**
 * Which names the searches spell whole. A policy copies a name from the question token by token, and what it has learned of
 * a token it has learned from training questions: names are grouped by their rarest token there, and by their length.
 */
import { rollup, sum } from 'd3-array';
import type { Question } from '../../data/question.js';
import { matching, type TidyRow } from '../../evaluation/table.js';
import { figureText } from '../../report/text.js';
import { askedEntities, type AskedEntity } from '../../rewards/coverage.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import type { Measure } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/result.js';
import { againstGraph, countOmissions } from './measures.js';

export interface NameTokens {
  /** Tokens of the name. */
  length: number;
  /** How often training questions hold the rarest of them. */
  rarest: number;
}

export type NameReader = (name: string) => NameTokens;

/** A range of names; `suffix` ends the names of its metrics: `named_…` and `names_…`. */
type NameGroup = { suffix: string; title: string } & Partial<
  Record<keyof NameTokens, readonly [number, number]>
>;

/** The groups that are told apart; each name is in one by rarity and in one by length. */
export const NAME_GROUPS: readonly NameGroup[] = [
  { suffix: 'rarest_0', title: 'rarest token 0 times in training questions', rarest: [0, 0] },
  { suffix: 'rarest_1_to_4', title: 'rarest token 1 to 4 times in training questions', rarest: [1, 4] },
  { suffix: 'rarest_5_to_19', title: 'rarest token 5 to 19 times in training questions', rarest: [5, 19] },
  {
    suffix: 'rarest_20_up',
    title: 'rarest token 20 or more times in training questions',
    rarest: [20, Infinity],
  },
  { suffix: 'tokens_1_to_3', title: '1 to 3 tokens', length: [1, 3] },
  { suffix: 'tokens_4_to_5', title: '4 to 5 tokens', length: [4, 5] },
  { suffix: 'tokens_6_to_8', title: '6 to 8 tokens', length: [6, 8] },
  { suffix: 'tokens_9_up', title: '9 or more tokens', length: [9, Infinity] },
];

const isWithin = (value: number, [least, most]: readonly [number, number] = [0, Infinity]): boolean =>
  value >= least && value <= most;

export const isInGroup = (name: NameTokens, { rarest, length }: NameGroup): boolean =>
  isWithin(name.rarest, rarest) && isWithin(name.length, length);

/**
 * For each group `named_…`, the share of its names that a search held whole, and `names_…`, the share of all names that are
 * in it: on parallelizable questions, pooled over them.
 * @param questions those that were asked
 */
export function nameMeasures(questions: readonly Question[], tokensOf: NameReader): Measure[] {
  const entitiesOf = againstGraph(questions, askedEntities);
  return NAME_GROUPS.flatMap((nameGroup): Measure[] => {
    const inGroup = (answer: QuestionResult): AskedEntity[] =>
      entitiesOf(answer).filter(({ entity }) => isInGroup(tokensOf(entity), nameGroup));
    const size = (answer: QuestionResult): number => inGroup(answer).length;
    const subsets = ['parallelizable', 'parallelizable_2_to_4'];
    return [
      {
        metric: `named_${nameGroup.suffix}`,
        of: (answer) => inGroup(answer).filter(({ asked }) => asked).length,
        per: size,
        subsets,
      },
      { metric: `names_${nameGroup.suffix}`, of: size, per: (answer) => entitiesOf(answer).length, subsets },
    ];
  });
}

/**
 * The rows of {@link nameMeasures} in the questions of 2 to 4 entities, group by group: its `names`, the `share` of all names that
 * are in it, and the figure of each policy. A group without names has none.
 */
export const nameGroupRows = (rows: readonly TidyRow[]): object[] => {
  const own = matching(rows, { benchmark: 'all', subset: 'parallelizable_2_to_4' });
  return NAME_GROUPS.flatMap(({ suffix, title: names }) => {
    const share = figureText(matching(own, { metric: `names_${suffix}` })[0]?.value);
    return matching(own, { metric: `named_${suffix}` }).map(
      ({ method, model, metric, value, low, high }) => ({
        ...{ names, share, method, model, metric, value, low, high },
      }),
    );
  });
};

/** Why sub-questions of parallelizable questions were left out: shares of those that were. */
export function omissionMeasures(questions: readonly Question[]): Measure[] {
  const omissionsOf = againstGraph(questions, countOmissions);
  return (['misnamed', 'repeated', 'no_search', 'overlooked'] as const).map((reason) => ({
    metric: `omitted_${reason}`,
    of: (answer) => omissionsOf(answer)[reason],
    per: (answer) => sum(Object.values(omissionsOf(answer))),
    subsets: ['parallelizable', 'parallelizable_2_to_4'],
  }));
}

/** How often answers left a name out. */
export interface NameCount extends NameTokens {
  name: string;
  /** Answers to parallelizable questions that hold the name. */
  answers: number;
  /** Those of them in which no search held it whole. */
  missed: number;
}

/** The names of parallelizable questions, those most often missed first. */
export function countNames(
  answers: readonly QuestionResult[],
  questions: readonly Question[],
  tokensOf: NameReader,
): NameCount[] {
  const entitiesOf = againstGraph(questions, askedEntities);
  const asked = matching(answers, { subset: 'parallelizable' }).flatMap(entitiesOf);
  const counts = rollup(
    asked,
    (own) => ({ answers: own.length, missed: own.filter((one) => !one.asked).length }),
    ({ entity }) => entity,
  );
  return [...counts]
    .map(([name, count]) => ({ name, ...tokensOf(name), ...count }))
    .sort((a, b) => b.missed - a.missed || (a.name < b.name ? -1 : 1));
}

/**
 * Reads names as they stand within a question.
 * @param questions tokens are counted in those of training (split `train`)
 */
export function nameReader(questions: readonly Question[], tokenizer: Tokenizer): NameReader {
  const tokenIds = questions
    .filter(({ split }) => split === 'train')
    .flatMap(({ question }) => tokenizer.encode(question));
  const counts = rollup(
    tokenIds,
    ({ length }) => length,
    (id) => id,
  );
  const known = new Map<string, NameTokens>();
  return (name) => {
    if (!known.has(name)) {
      const ids = tokenizer.encode(` ${name}`);
      known.set(name, { length: ids.length, rarest: Math.min(...ids.map((id) => counts.get(id) ?? 0)) });
    }
    return known.get(name)!;
  };
}
