/** The claims of the paper as a part of the index page. */
import { escapeHtml } from '../html/markup.js';
import { VERDICT_RULE, type JudgedClaim, type Verdict } from './verdicts.js';

const SIGNS: Readonly<Record<Verdict, string>> = {
  shown: '✓',
  'not shown': '○',
  contradicted: '✗',
  'not testable at this scale': '–',
  'not computed yet': '…',
};

/** Styles of the table of claims. */
export const CLAIMS_STYLES = `
table.claims { font-size: .86rem; }
table.claims td, table.claims th { white-space: normal; min-width: 8rem; }
table.claims .verdict { font-weight: 600; }
table.claims small { display: block; color: var(--soft); font-size: .8rem; }
`;

/** A section with the rule, a count of the verdicts, and a row for each claim. */
export function claimsHtml(claims: readonly JudgedClaim[]): string {
  const heads = [
    'Claim of the paper',
    'The paper’s figure',
    'What its own tables give',
    'Found here, small world [95 %]',
    'Verdict',
  ];
  const caption = 'The paper’s claims, what its tables bear out, and what was found here.';
  return [
    '<section aria-labelledby="claims"><h2 id="claims">The paper’s claims</h2>',
    `<p>${escapeHtml(countText(claims))} ${escapeHtml(VERDICT_RULE)} The numbers are in <a href="index.json">index.json</a>.</p>`,
    `<div class="scroll" role="group" aria-label="The paper’s claims" tabindex="0"><table class="claims"><caption>${caption}</caption>`,
    `<thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join('')}</tr></thead>`,
    `<tbody>${claims.map(claimRow).join('\n')}</tbody></table></div></section>`,
  ].join('\n');
}

function claimRow({ id, claim, paper, tables, rule, found, verdict, link }: JudgedClaim): string {
  const sign = `<span aria-hidden="true">${SIGNS[verdict]}</span> ${escapeHtml(verdict)}`;
  const linked = link ? `<small><a href="${escapeHtml(link)}">where it is computed</a></small>` : '';
  return [
    `<tr id="claim-${escapeHtml(id)}"><th scope="row">${escapeHtml(claim)}</th>`,
    ...[paper, tables].map((text) => `<td>${escapeHtml(text)}</td>`),
    `<td>${escapeHtml(found)}<small>${escapeHtml(rule)}</small></td>`,
    `<td><span class="verdict">${sign}</span>${linked}</td></tr>`,
  ].join('');
}

/** `16 claims: 9 shown, 2 not shown, ...` */
function countText(claims: readonly JudgedClaim[]): string {
  const counts = (Object.keys(SIGNS) as Verdict[])
    .map((verdict) => [verdict, claims.filter((claim) => claim.verdict === verdict).length] as const)
    .filter(([, count]) => count > 0);
  return `${claims.length} claims: ${counts.map(([verdict, count]) => `${count} ${verdict}`).join(', ')}.`;
}
