/**
 * Which names the searches spell whole. A policy copies a name from the question token by token, and what it has learned of
 * a token it has learned from training questions: names are grouped by their rarest token there, and by their length.
 */
import type { Question } from '../../data/question.js';
import { figureText } from '../../report/text.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import {
  againstGraph,
  askedEntities,
  countOmissions,
  type AskedEntity,
  type Omissions,
} from '../../rewards/coverage.js';
import type { Interval } from '../../evaluation/bootstrap.js';
import type { Measure } from '../../evaluation/measures.js';
import type { QuestionResult } from '../../evaluation/result.js';
import type { TidyRow } from '../../evaluation/table.js';

export interface NameTokens {
  /** Tokens of the name. */
  length: number;
  /** How often training questions hold the rarest of them. */
  rarest: number;
}

export type NameReader = (name: string) => NameTokens;

export interface NameGroup {
  /** Ending of the metrics' names: `named_…` and `names_…`. */
  suffix: string;
  title: string;
  holds: (name: NameTokens) => boolean;
}

const groupsBy = (
  key: keyof NameTokens,
  suffix: string,
  titled: (range: string) => string,
  ranges: readonly (readonly [least: number, most: number])[],
): NameGroup[] =>
  ranges.map(([least, most]) => {
    const to = most === Infinity ? 'up' : `to_${most}`;
    const range =
      most === Infinity ? `${least} or more` : least === most ? `${least}` : `${least} to ${most}`;
    return {
      suffix: least === most ? `${suffix}_${least}` : `${suffix}_${least}_${to}`,
      title: titled(range),
      holds: (name) => name[key] >= least && name[key] <= most,
    };
  });

/** The groups that are told apart; each name is in one by rarity and in one by length. */
export const NAME_GROUPS: readonly NameGroup[] = [
  ...groupsBy('rarest', 'rarest', (range) => `rarest token ${range} times in training questions`, [
    [0, 0],
    [1, 4],
    [5, 19],
    [20, Infinity],
  ]),
  ...groupsBy('length', 'tokens', (range) => `${range} tokens`, [
    [1, 3],
    [4, 5],
    [6, 8],
    [9, Infinity],
  ]),
];

/**
 * For each group `named_…`, the share of its names that a search held whole, and `names_…`, the share of all names that are
 * in it: on parallelizable questions, pooled over them.
 * @param questions those that were asked
 */
export function nameMeasures(questions: readonly Question[], tokensOf: NameReader): Measure[] {
  const entitiesOf = againstGraph(questions, askedEntities);
  return NAME_GROUPS.flatMap(({ suffix, holds }): Measure[] => {
    const inGroup = (answer: QuestionResult): AskedEntity[] =>
      entitiesOf(answer).filter(({ entity }) => holds(tokensOf(entity)));
    const size = (answer: QuestionResult): number => inGroup(answer).length;
    const subsets = ['parallelizable', 'parallelizable_2_to_4'];
    return [
      {
        metric: `named_${suffix}`,
        of: (answer) => inGroup(answer).filter(({ asked }) => asked).length,
        per: size,
        subsets,
      },
      { metric: `names_${suffix}`, of: size, per: (answer) => entitiesOf(answer).length, subsets },
    ];
  });
}

/** A group of names in the questions of 2 to 4 entities, with the share of them that a policy's searches held whole. */
export interface NameGroupRow extends Interval {
  names: string;
  /** Share of all names that are in the group, as text with three decimals. */
  share: string;
  method: string;
  model: string;
  metric: string;
}

/** The rows of {@link nameMeasures} group by group; a group without names has none. */
export const nameGroupRows = (rows: readonly TidyRow[]): NameGroupRow[] => {
  const own = rows.filter((row) => row.benchmark === 'all' && row.subset === 'parallelizable_2_to_4');
  return NAME_GROUPS.flatMap(({ suffix, title: names }) => {
    const share = figureText(own.find(({ metric }) => metric === `names_${suffix}`)?.value);
    return own
      .filter(({ metric }) => metric === `named_${suffix}`)
      .map(({ method, model, metric, value, low, high }) => ({
        names,
        share,
        method,
        model,
        metric,
        value,
        low,
        high,
      }));
  });
};

/** Why sub-questions of parallelizable questions were left out: shares of those that were. */
export function omissionMeasures(questions: readonly Question[]): Measure[] {
  const omissionsOf = againstGraph(questions, countOmissions);
  const total = (answer: QuestionResult): number => {
    const { noSearch, misnamed, repeated, overlooked } = omissionsOf(answer);
    return noSearch + misnamed + repeated + overlooked;
  };
  const share = (name: string, reason: keyof Omissions): Measure => ({
    metric: `omitted_${name}`,
    of: (answer) => omissionsOf(answer)[reason],
    per: total,
    subsets: ['parallelizable', 'parallelizable_2_to_4'],
  });
  return [
    share('misnamed', 'misnamed'),
    share('repeated', 'repeated'),
    share('no_search', 'noSearch'),
    share('overlooked', 'overlooked'),
  ];
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
  const counts = new Map<string, NameCount>();
  for (const answer of answers) {
    if (answer.subset !== 'parallelizable') continue;
    for (const { entity: name, asked } of entitiesOf(answer)) {
      const count = counts.get(name) ?? { name, ...tokensOf(name), answers: 0, missed: 0 };
      counts.set(name, { ...count, answers: count.answers + 1, missed: count.missed + (asked ? 0 : 1) });
    }
  }
  return [...counts.values()].sort((a, b) => b.missed - a.missed || (a.name < b.name ? -1 : 1));
}

/**
 * Reads names as they stand within a question.
 * @param questions tokens are counted in those of training (split `train`)
 */
export function nameReader(questions: readonly Question[], tokenizer: Tokenizer): NameReader {
  const counts = new Map<number, number>();
  for (const { split, question } of questions) {
    if (split !== 'train') continue;
    for (const id of tokenizer.encode(question)) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const known = new Map<string, NameTokens>();
  return (name) => {
    const before = known.get(name);
    if (before) return before;
    const ids = tokenizer.encode(` ${name}`);
    const tokens = { length: ids.length, rarest: Math.min(...ids.map((id) => counts.get(id) ?? 0)) };
    known.set(name, tokens);
    return tokens;
  };
}
