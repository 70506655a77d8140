/** Scores as an aligned text table with a summary. */
import { mean as meanOf } from 'd3-array';
import type { TranscriptScore } from '../rewards/score.js';

type Row = readonly string[];

const COLUMNS = [
  'id',
  'shape',
  'EM',
  'F1',
  'format',
  'turns',
  'decomposed',
  'outcome',
  'decomp.',
  'searches',
  'format r.',
  'total',
];
/** What the last columns show. */
const COMPONENTS = ['outcome', 'decomposition', 'search_count', 'format', 'total'];
/** Columns that hold words are aligned to the left, numbers to the right. */
const LEFT_ALIGNED = 2;

const fixed = (value: number): string => value.toFixed(3);
const yesNo = (value: boolean): string => (value ? 'yes' : 'no');

function scoreRow(score: TranscriptScore): Row {
  return [
    score.id,
    score.shape ?? 'unknown',
    String(score.exactMatch),
    fixed(score.f1),
    score.formatOk ? 'ok' : 'bad',
    String(score.turns),
    yesNo(score.decomposed),
    ...COMPONENTS.map((name) => fixed(score.rewards[name])),
  ];
}

/** Means over some scores; the yes-or-no columns as shares. */
function meanRow(label: string, scores: readonly TranscriptScore[]): Row {
  const mean = (value: (score: TranscriptScore) => number): string => fixed(meanOf(scores, value)!);
  return [
    label,
    `n = ${scores.length}`,
    mean((s) => s.exactMatch),
    mean((s) => s.f1),
    mean((s) => Number(s.formatOk)),
    mean((s) => s.turns),
    mean((s) => Number(s.decomposed)),
    ...COMPONENTS.map((name) => mean((s) => s.rewards[name])),
  ];
}

/** A mean for each shape that occurs, and one for all. */
function summaryRows(scores: readonly TranscriptScore[]): Row[] {
  const shapes = [...new Set(scores.map((score) => score.shape))];
  const perShape = shapes.map((shape) =>
    meanRow(
      shape ?? 'unknown',
      scores.filter((score) => score.shape === shape),
    ),
  );
  return shapes.length > 1 ? [...perShape, meanRow('mean', scores)] : [meanRow('mean', scores)];
}

/** Shortens a long id from the front, which keeps what tells ids apart. */
const shortened = (text: string, width: number): string =>
  text.length > width ? `…${text.slice(text.length - width + 1)}` : text;

/** The table, one line each transcript and then the means, without a line break at the end. */
export function formatScoreTable(scores: readonly TranscriptScore[]): string {
  if (scores.length === 0) return 'No transcripts.';
  const body = scores.map(scoreRow).map(([id, ...rest]) => [shortened(id, 28), ...rest]);
  const summary = summaryRows(scores);
  const widths = COLUMNS.map((name, i) =>
    [...body, ...summary].reduce((width, row) => Math.max(width, row[i].length), name.length),
  );
  const print = (row: Row): string =>
    row.map((cell, i) => (i < LEFT_ALIGNED ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ');
  const rule = '-'.repeat(print(COLUMNS).length);
  return [print(COLUMNS), rule, ...body.map(print), rule, ...summary.map(print)].join('\n');
}
