/** Judges the paper's claims from the results of experiments, by a single rule. */
import { greatest, least, max, min, sort } from 'd3-array';
import { holm, LEVEL, pValue } from '../../lib/evaluation/significance.js';
import type { ExperimentResult } from '../../lib/experiments/experiment.js';
import type { ClaimPart, Evidence, PaperClaim } from '../../lib/experiments/results/claims.js';
import { cellAnchor } from '../../lib/pages/notebook/page.js';
import { intervalText, pointsIntervalText } from '../../lib/report/text.js';

export type Verdict = 'shown' | 'not shown' | 'contradicted' | 'not testable' | 'not computed yet';

/** A claim with its verdict and everything that pages show. */
export interface JudgedClaim
  extends Pick<PaperClaim, 'id' | 'claim' | 'paper'>, Pick<Evidence, 'rule'> {
  tables: string;
  found: string;
  /** `figures` in short: one figure if there are more than {@link MAX_SHOWN}. */
  figure: string;
  parts: ClaimPart[];
  /** Two-sided p of the deciding figure, corrected twice; null without one. */
  p: number | null;
  verdict: Verdict;
  /** Link to the cell that computes it, relative to the reports, or null. */
  link: string | null;
}

/** Maximum number of figures shown individually: two initial models and both pooled. */
const MAX_SHOWN = 3;

/** The rule, for pages. */
export const VERDICT_RULE =
  'Shown: the whole 95 % interval is on the claimed side of the threshold. Contradicted: the whole interval is on the other side. Not shown: the interval contains the threshold. A claim with several figures is shown if all of them are, and contradicted if one of them is. One of many figures may be on the other side by chance, so a contradiction also needs p < 0.05 after Holm’s correction over the claim’s figures; all figures of a claim at once cannot be on the claimed side by chance more often than the weakest of them, whose p counts. These p, one per claim, are corrected by Holm’s method again, over all claims, and must stay below 0.05. Only the direction of differences is judged, because levels in a small world cannot be compared with the paper’s. Not testable: the claim is about a level, about something that was not trained here or from fewer than three initial models, or about an effect for which this world leaves no room.';

const isBeyond = ({ estimate, side, threshold }: ClaimPart): boolean =>
  side === 'above' ? estimate.low > threshold : estimate.high < threshold;
const isOpposite = ({ side, ...part }: ClaimPart): boolean =>
  isBeyond({ ...part, side: side === 'above' ? 'below' : 'above' });

/** The verdict from a claim's figures. */
export function judgeParts(parts: readonly ClaimPart[]): Verdict {
  if (parts.length === 0) return 'not computed yet';
  const ps = correctedPs(parts);
  if (parts.some((part, i) => isOpposite(part) && ps[i] <= LEVEL)) return 'contradicted';
  return parts.every(isBeyond) ? 'shown' : 'not shown';
}

/** The p of a claim's figures, corrected for their number. */
const correctedPs = (parts: readonly ClaimPart[]): number[] => holm(parts.map(pValue));

/**
 * The p of a claim. One figure is enough to contradict it, so these are corrected for
 * their number. All figures must show it (an intersection-union test), so the largest p
 * counts.
 */
function claimP({ parts, verdict }: Pick<JudgedClaim, 'parts' | 'verdict'>): number {
  if (verdict !== 'contradicted') return max(parts, pValue)!;
  const ps = correctedPs(parts);
  return min(ps.filter((_, i) => isOpposite(parts[i])))!;
}

export const decidedFirst = (claims: readonly JudgedClaim[]): JudgedClaim[] =>
  sort(claims, ({ parts }) => Number(parts.length === 0));

export function judgeClaims(
  experiments: readonly { name: string; claims?: readonly PaperClaim[] }[],
  results: ReadonlyMap<string, ExperimentResult>,
): JudgedClaim[] {
  const judged = experiments.flatMap(({ name, claims = [] }) => {
    const result = results.get(name);
    return claims.map((claim) => judge(claim, name, result));
  });
  const decided = judged.filter(({ parts }) => parts.length > 0);
  const ps = holm(decided.map(claimP));
  decided.forEach((claim, i) => {
    claim.p = ps[i];
    if (ps[i] > LEVEL) claim.verdict = 'not shown';
  });
  return judged;
}

/** The weakest figure, or the one most against the claim if it is contradicted. */
const decidingPart = ({ parts, verdict }: Pick<JudgedClaim, 'parts' | 'verdict'>): ClaimPart =>
  verdict === 'contradicted' ? least(parts.filter(isOpposite), pValue)! : greatest(parts, pValue)!;

function judge(
  claim: PaperClaim,
  report: string,
  result: ExperimentResult | undefined,
): JudgedClaim {
  const { id, paper } = claim;
  const fields = { id, claim: claim.claim, paper, tables: claim.tables(), p: null };
  if ('untestable' in claim) {
    const reason = claim.untestable;
    const nothing = { found: '–', figure: reason, parts: [], link: null };
    return { ...fields, rule: reason, ...nothing, verdict: 'not testable' };
  }
  const parts = result ? claim.parts(result) : [];
  const found = parts.map(partText).join('; ') || '–';
  const link = result ? `${report}.html#${cellAnchor(claim.cell)}` : null;
  const reason = result && claim.findReason?.(result);
  if (reason) {
    const figure = parts.length > 0 ? `${found}, but ${reason}` : reason;
    return { ...fields, rule: reason, found, figure, parts: [], link, verdict: 'not testable' };
  }
  const verdict = judgeParts(parts);
  const which = verdict === 'contradicted' ? 'worst' : 'weakest';
  const figure =
    parts.length > MAX_SHOWN
      ? `${partText(decidingPart({ parts, verdict }))} (${which} of ${parts.length})`
      : found;
  return { ...fields, rule: claim.rule, found, figure, parts, verdict, link };
}

function partText({ label, estimate, unit }: ClaimPart): string {
  const text =
    unit === 'points' ? `${pointsIntervalText(estimate)} points` : intervalText(estimate);
  return label ? `${label}${label.includes(': ') ? '' : ':'} ${text}` : text;
}
