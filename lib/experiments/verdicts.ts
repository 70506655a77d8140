/**
 * Verdicts on the paper's claims, by one stated rule, from the results of experiments.
 */
import { greatest, least, sort } from 'd3-array';
import { cumulativeNormal, quantileNormal } from 'vega-statistics';
import { matching } from '../evaluation/table.js';
import { intervalText, pointsIntervalText } from '../report/text.js';
import { cellAnchor } from '../report/html.js';
import { titleOf } from '../report/titles.js';
import type {
  ExperimentResult,
  Evidence,
  Figures,
  Numbers,
  PaperClaim,
  Part,
} from './experiment.js';

export type { Numbers, PaperClaim, Part } from './experiment.js';
import { INITIAL_MODELS } from '../training/checkpoints.js';

const numbersOf = ({ rows, contrasts, frames }: ExperimentResult): Numbers => ({
  rows: [...rows, ...(frames.training ?? [])] as Numbers['rows'],
  contrasts: contrasts as Figures,
});

type Fields = Readonly<Record<string, unknown>>;

/** The figures among `items` with the given fields, as parts of a claim. */
export const partsWhere = (
  items: Numbers['rows'],
  fields: Fields,
  part: Omit<Part, 'found'>,
): Part[] =>
  matching(items, fields).map(({ value, low, high }) => ({ ...part, found: { value, low, high } }));

export const OURS = { method: 'parallelsearch', benchmark: 'all' };

/**
 * Differences in exact match, or of what `fields` say, of ParallelSearch over all
 * questions unless they say otherwise, above 0.
 */
export const partsAhead = ({ contrasts }: Numbers, of: string, fields: Fields): Part[] =>
  partsWhere(
    contrasts,
    { ...OURS, metric: 'em', kind: 'difference', ...fields },
    { of, unit: 'points', side: 'above', threshold: 0 },
  );

/**
 * A figure from each initial model by itself, then from both, where it is there; none
 * unless every model has it.
 */
export function fromEachModel(partsOf: (model: string, of: string) => Part[]): Part[] {
  const parts = INITIAL_MODELS.map((model) => partsOf(model, model));
  return parts.every((part) => part.length === 1)
    ? [...parts.flat(), ...partsOf('all', titleOf('model', 'all'))]
    : [];
}

/** {@link partsAhead} from each initial model, then from both. */
export const aheadFromEachModel = (numbers: Numbers, fields: Fields): Part[] =>
  fromEachModel((model, of) => partsAhead(numbers, of, { ...fields, model }));

export type Verdict = 'shown' | 'not shown' | 'contradicted' | 'not testable' | 'not computed yet';

/** A claim with everything that the claims page says of it. */
export interface JudgedClaim
  extends Pick<PaperClaim, 'id' | 'claim' | 'paper'>, Pick<Evidence, 'rule'> {
  tables: string;
  found: string;
  /** The same in short: one figure, where there are more than {@link MOST_TOLD}. */
  figure: string;
  parts: Part[];
  /**
   * Two-sided p of the least certain of its figures, after Holm's correction over all
   * claims with figures; null without any.
   */
  p: number | null;
  verdict: Verdict;
  /**
   * The cell that computes it, from the folder of the reports; null where there is none.
   */
  link: string | null;
}

/**
 * Figures that are told one by one: those of both initial models, and of the two
 * together.
 */
const MOST_TOLD = 3;

/** The rule, for readers. */
export const VERDICT_RULE =
  'Shown: the whole 95 % interval lies where the claim puts it. Contradicted: the whole interval lies on the other side. Not shown: the interval holds the limit, so that questions and seeds at hand do not decide. A claim with several figures is shown when all of them are, and contradicted when one of them is. Since many claims are judged at once, none is shown or contradicted unless its p stays below 0.05 after Holm’s correction over all of them. Of differences only the direction is judged, because levels of a small world cannot be compared with the paper’s. Not testable: what it is about was never trained here, or is a level.';

const isBeyond = ({ found, side, threshold }: Part): boolean =>
  side === 'above' ? found.low > threshold : found.high < threshold;
const isOpposite = ({ side, ...part }: Part): boolean =>
  isBeyond({ ...part, side: side === 'above' ? 'below' : 'above' });

/** The verdict on a claim's figures; none are not enough to compute it. */
export function verdictOn(parts: readonly Part[]): Verdict {
  if (parts.length === 0) return 'not computed yet';
  if (parts.some(isOpposite)) return 'contradicted';
  return parts.every(isBeyond) ? 'shown' : 'not shown';
}

export const LEVEL = 0.05;
/** Standard errors from end to end of a 95 % interval. */
const INTERVAL_WIDTH = 2 * quantileNormal(1 - LEVEL / 2);

/** Two-sided p of a figure against its limit, by the width of its interval. */
export function pOf({ found, threshold }: Pick<Part, 'found' | 'threshold'>): number {
  const error = (found.high - found.low) / INTERVAL_WIDTH;
  if (error === 0) return found.value === threshold ? 1 : 0;
  return 2 * cumulativeNormal(-Math.abs(found.value - threshold) / error);
}

/** Holm's step-down correction (Holm 1979): p values in the order given. */
export function holm(ps: readonly number[]): number[] {
  const adjusted = [...ps];
  let most = 0;
  sort(ps.keys(), (i) => ps[i]).forEach((i, rank) => {
    most = Math.max(most, Math.min(1, (ps.length - rank) * ps[i]));
    adjusted[i] = most;
  });
  return adjusted;
}

/**
 * Claims in the order in which readers get them: those that figures decide, then the
 * others.
 */
export const decidedFirst = (claims: readonly JudgedClaim[]): JudgedClaim[] =>
  sort(claims, ({ parts }) => Number(parts.length === 0));

/** Judges the claims of each experiment by its result. */
export function judgeClaims(
  experiments: readonly { name: string; claims?: readonly PaperClaim[] }[],
  results: ReadonlyMap<string, ExperimentResult>,
): JudgedClaim[] {
  const judged = experiments.flatMap(({ name, claims = [] }) => {
    const result = results.get(name);
    return claims.map((claim) => judge(claim, name, result ? numbersOf(result) : null));
  });
  const decided = judged.filter(({ parts }) => parts.length > 0);
  const ps = holm(decided.map((claim) => pOf(decidingPart(claim))));
  decided.forEach((claim, i) => {
    claim.p = ps[i];
    if (ps[i] > LEVEL) claim.verdict = 'not shown';
  });
  return judged;
}

/**
 * All figures of a claim must hold: it is as certain as the least certain of them. One
 * that is against it is enough.
 */
const decidingPart = ({ parts, verdict }: Pick<JudgedClaim, 'parts' | 'verdict'>): Part =>
  verdict === 'contradicted' ? least(parts.filter(isOpposite), pOf)! : greatest(parts, pOf)!;

function judge(
  { id, claim, paper, tables, evidence }: PaperClaim,
  report: string,
  numbers: Numbers | null,
): JudgedClaim {
  const said = { id, claim, paper, tables: tables() };
  if ('untestable' in evidence) {
    const { untestable: rule } = evidence;
    return {
      ...said,
      rule,
      found: '–',
      figure: '–',
      parts: [],
      p: null,
      verdict: 'not testable',
      link: null,
    };
  }
  const parts = numbers ? evidence.parts(numbers) : [];
  const found = parts.map(partText).join('; ') || '–';
  const verdict = verdictOn(parts);
  const which = verdict === 'contradicted' ? 'most against it' : 'least certain';
  const figure =
    parts.length > MOST_TOLD
      ? `${partText(decidingPart({ parts, verdict }))}, the ${which} of ${parts.length}`
      : found;
  const link = numbers ? `${report}.html#${cellAnchor(evidence.cell)}` : null;
  return { ...said, rule: evidence.rule, found, figure, parts, p: null, verdict, link };
}

function partText({ of, found, unit }: Part): string {
  const text = unit === 'points' ? `${pointsIntervalText(found)} points` : intervalText(found);
  return of ? `${of}: ${text}` : text;
}
