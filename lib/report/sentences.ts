/** Sentences that say what was found, made from the numbers. */
import { rowsOf, type Row, type Rows } from './frame.js';
import { decimalsOf, isShare, metricInfo, titleOf } from './titles.js';
import { listed } from '../text/listed.js';
import { intervalText, pointsIntervalText } from './text.js';
import { MANY } from '../evaluation/selections.js';
import type { Interval } from '../evaluation/bootstrap.js';

/** What a section of a notebook has found. */
export interface Finding {
  kind: 'finding';
  text: string;
}

/** Sentences to be shown as what was found. @throws Error when they say nothing */
export function finding(...sentences: readonly string[]): Finding {
  const text = sentences.filter(Boolean).join(' ');
  if (text === '') throw new Error('Expected a sentence on what was found, but got none.');
  return { kind: 'finding', text };
}

const lowerFirst = (text: string): string =>
  /^[A-Z][a-z]/.test(text) ? text[0].toLowerCase() + text.slice(1) : text;

/**
 * What questions a subset has: `sequential questions`, `comparisons of 3`, `questions
 * worded as in training`.
 */
function questionsOf(subset: Row[string]): string {
  const [, entities] = /^entities_(.+)$/.exec(String(subset)) ?? [];
  if (entities) return `comparisons of ${entities}`;
  const title = titleOf('subset', subset);
  return /^(worded|of) /.test(title) ? `questions ${title}` : `${title} questions`;
}

/** What benchmarks are called in a sentence, where not by their titles. */
const BENCHMARKS: Readonly<Record<string, string>> = {
  average: 'average of seven benchmarks',
  [MANY]: 'comparisons of two to eight',
  training: '',
  undefined: '',
};

/** Where a row's figure is from: `parallelizable questions, HotpotQA, instruct`. */
function placeOf({ subset, benchmark, model, retriever, k }: Row): string {
  const isWhole = subset === 'all' || subset === undefined;
  const places = [
    isWhole ? '' : questionsOf(subset),
    benchmark === 'all'
      ? isWhole
        ? 'all questions'
        : ''
      : (BENCHMARKS[String(benchmark)] ?? titleOf('benchmark', benchmark)),
    model === undefined ? '' : model === 'all' ? 'both models pooled' : titleOf('model', model),
    retriever === undefined ? '' : titleOf('retriever', retriever),
    k === undefined ? '' : `k = ${k}`,
  ];
  return places.filter(Boolean).join(', ');
}

/**
 * On which side of a limit a whole interval lies; `undecided` when it holds the limit.
 */
export function sideOf(
  { low, high }: Pick<Interval, 'low' | 'high'>,
  limit = 0,
): 'above' | 'below' | 'undecided' {
  return low > limit ? 'above' : high < limit ? 'below' : 'undecided';
}

const RATIOS = { above: 'more', below: 'less', undecided: 'about as much' } as const;

/** One comparison in words. */
function comparedRow(row: Row): string {
  const found = row as unknown as Interval;
  const isModels = typeof row.against_model === 'string';
  const sideName = (method: Row[string], model: Row[string]): string =>
    titleOf('method', method) + (isModels ? ` from ${titleOf('model', model)}` : '');
  const [ours, theirs] = [
    sideName(row.method, row.model),
    sideName(row.against, row.against_model),
  ];
  const metric = String(row.metric);
  const name = lowerFirst(metricInfo(metric).title);
  const { model: _, ...elsewhere } = row;
  const place = placeOf(isModels ? elsewhere : row);
  if (row.kind === 'ratio')
    return `${ours} takes ${RATIOS[sideOf(found, 1)]}: ${intervalText(found, 2)} of what ${theirs} takes in ${name} (${place}).`;
  const isPoints = isShare(metric);
  const figure = isPoints
    ? `${pointsIntervalText(found)} points`
    : intervalText(found, decimalsOf(metric, row.value));
  const side = sideOf(found);
  if (side === 'undecided')
    return `Between ${ours} and ${theirs} ${name} is undecided: ${figure} (${place}).`;
  const verbs =
    isPoints && !metricInfo(metric).isCost
      ? { above: 'is ahead of', below: 'is behind' }
      : { above: 'has more than', below: 'has less than' };
  return `${ours} ${verbs[side]} ${theirs} in ${name}: ${figure} (${place}).`;
}

/** Each comparison of a frame of contrasts in words, in its order. */
export const compared = (contrasts: Rows): string => rowsOf(contrasts).map(comparedRow).join(' ');

/**
 * The rows of a frame in words: `Exact match: ParallelSearch 0.651 [0.630, 0.672]
 * (parallelizable questions, base)`.
 */
export function stated(rows: Rows): string {
  const all = rowsOf(rows);
  const metrics = [...new Set(all.map(({ metric }) => String(metric)))];
  const sentences = metrics.map((metric) => {
    const own = all.filter((row) => row.metric === metric);
    const { title } = metricInfo(metric);
    const figures = own.map((row) => {
      const place = placeOf(row);
      return `${titleOf('method', row.method)} ${intervalText(row as unknown as Interval, decimalsOf(metric, row.value))}${place ? ` (${place})` : ''}`;
    });
    return `${title}: ${listed(figures)}.`;
  });
  return sentences.join(' ');
}
