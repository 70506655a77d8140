/** Writes the index of the reports. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { matching } from '../../lib/evaluation/figures.js';
import type { ExperimentResult } from '../../lib/experiments/experiment.js';
import { EXPERIMENTS } from '../../lib/experiments/list.js';
import { writeFileSafely } from '../../lib/io/files.js';
import { listReports, readResults, type PageInfo } from '../../lib/pages/notebook/reports.js';
import { pageHtml, withNavigation } from '../../lib/pages/page.js';
import { layout } from '../../lib/pages/sections.js';
import { markup, type Content, type Markup } from '../../lib/report/markup.js';
import {
  describeQuestions,
  describeUndecided,
  ONE_TRAINING,
  type Prediction,
} from '../../lib/report/result.js';
import { KIND_STYLE, readStyles } from '../../lib/report/styles.js';
import { formatList } from '../../lib/text/english.js';
import { splitSentences } from '../../lib/text/sentences.js';
import {
  decidedFirst,
  judgeClaims,
  VERDICT_RULE,
  type JudgedClaim,
  type Verdict,
} from './claims.js';
import { thumbnail } from './pictures.js';

const TITLE = 'ParallelSearch: results';

/** How to read the figures, for index and README. */
export const INTRO =
  'Figures come from a small world and small transformers: they show which method is ahead on which questions, not the paper’s levels. Brackets are 95 % intervals; “pooled” means both initial models together, “average of seven” weights benchmarks equally, “all questions” weights questions equally.';

/**
 * Writes `index.html`: the chief findings, a card per page and per report (finding,
 * chart, predictions), then the paper's claims with their verdicts, which are also in
 * `index.json`. Adds a navigation bar to all pages. Returns the page's name.
 */
export async function writeIndex(outDir: string, pages: readonly PageInfo[] = []): Promise<string> {
  const results = readResults(outDir);
  const claims = judgeClaims(EXPERIMENTS, results);
  const [reports, others] = [true, false].map((hasResult) =>
    [...listReports(outDir), ...pages].filter(({ name }) => results.has(name) === hasResult),
  );
  const listed = [...reports, ...others.filter((page) => !pages.includes(page))];
  const cards = await Promise.all(
    [...pages, ...listed].map((page) => card(page, results.get(page.name))),
  );
  const intro = [INTRO, questionsText(results)].filter(Boolean).join(' ');
  const body = layout(
    [],
    [
      markup('h1', TITLE),
      chiefFindings(results, claims),
      markup('ul.cards', cards),
      markup('p.intro', intro),
      claimsSection(claims),
    ],
  );
  const file = path.join(outDir, 'index.html');
  const numbers = `${JSON.stringify({ claims }, null, 1)}\n`;
  await writeFileSafely(path.join(outDir, 'index.json'), numbers);
  const styles = KIND_STYLE + readStyles('index.css', import.meta.url);
  const page = { title: TITLE, description: INTRO, body, styles };
  await writeFileSafely(file, pageHtml(page));
  await linkPages(outDir, pages);
  return file;
}

/** Adds a navigation bar with the existing pages to each of them. */
async function linkPages(outDir: string, pages: readonly PageInfo[]): Promise<void> {
  const pageFile = ({ name }: SitePage): string => path.join(outDir, `${name}.html`);
  const written = (list: readonly SitePage[]): SitePage[] =>
    list.filter((page) => existsSync(pageFile(page)));
  const site = {
    pages: written([{ name: 'index', title: 'Results' }, ...pages]),
    reports: written(listReports(outDir)),
  };
  for (const page of [...site.pages, ...site.reports]) {
    const html = readFileSync(pageFile(page), 'utf8');
    await writeFileSafely(pageFile(page), withNavigation(html, siteLinks(page.name, site)));
  }
}

/** A page in a folder of pages; `name` is its file without ending. */
type SitePage = Pick<PageInfo, 'name' | 'title'>;

/**
 * The links of a page's navigation bar.
 * @param site pages with links of their own, then those behind the entry "Reports"
 */
function siteLinks(
  name: string,
  { pages, reports }: { pages: readonly SitePage[]; reports: readonly SitePage[] },
): Content {
  const link = (page: SitePage): Markup => {
    const isCurrent = page.name === name && 'page';
    return markup('a', { href: `${page.name}.html`, 'aria-current': isCurrent }, page.title);
  };
  const isReport = reports.some((report) => report.name === name);
  const summary = markup('summary', { class: isReport && 'current' }, 'Reports');
  const items = reports.map((report) => markup('li', link(report)));
  const list = reports.length > 0 && markup('details', summary, markup('ul', items));
  const [first, ...others] = pages;
  return [link(first), list, others.map(link)];
}

/** The questions behind the results, from the first result that names them. */
export const questionsText = (results: ReadonlyMap<string, ExperimentResult>): string =>
  [...results.values()].map(({ provenance }) => describeQuestions(provenance)).find(Boolean) ?? '';

async function card(
  { name, title, description, picture: own }: PageInfo,
  result?: ExperimentResult,
): Promise<Markup> {
  const address = encodeURIComponent(name);
  const picture = result ? await thumbnails(result) : own;
  const numbers = markup('a', { href: `${address}.json` }, 'Numbers as JSON');
  return markup(
    'li',
    markup('h2', markup('a', { href: `${address}.html` }, title)),
    markup(`p.${result ? 'headline' : 'about'}`, result?.finding ?? description),
    picture && markup('div.picture', { 'aria-hidden': 'true' }, picture),
    predictionsList(result?.predictions ?? []),
    result && markup('p.files', numbers),
  );
}

/** Small versions of the charts that show a finding; null without a chart. */
async function thumbnails({ name, figures, card }: ExperimentResult): Promise<Content> {
  const first = Object.keys(figures).find((figure) => figures[figure].kind === 'chart');
  const named = Object.keys(card).length > 0 ? card : first === undefined ? {} : { [first]: '' };
  const pictures = Object.entries(named).map(([figure, panel]) => {
    const chart = figures[figure];
    if (chart?.kind !== 'chart')
      throw new Error(
        `Expected the result of ${name} to have a chart ${figure}, but it has ${Object.keys(figures).join(', ')}.`,
      );
    return thumbnail(chart.spec, `${name}-${figure}`, panel);
  });
  return pictures.length > 0 ? Promise.all(pictures) : null;
}

/** Predictions, folded; failed ones come first. */
function predictionsList(predictions: readonly Prediction[]): Content {
  if (predictions.length === 0) return null;
  const decided = predictions.filter(({ holds }) => holds !== ONE_TRAINING);
  const held = decided.filter(({ holds }) => holds).length;
  const verdicts = [
    [false, 'no'],
    [true, 'yes'],
    [ONE_TRAINING, ONE_TRAINING],
  ] as const;
  const lines = verdicts.flatMap(([outcome, verdict]) =>
    predictions
      .filter(({ holds }) => holds === outcome)
      .map(({ prediction, found }) =>
        markup('li', `${prediction}: `, markup('strong', verdict), `, ${found}`),
      ),
  );
  const summaries = [
    decided.length === 1 && `The prediction ${held === 1 ? 'holds' : 'failed'}`,
    decided.length > 1 && `${held} of ${decided.length} predictions hold`,
    describeUndecided(predictions),
  ];
  const summary = markup('summary', summaries.filter(Boolean).join('; '));
  return markup('details', summary, markup('ul', lines));
}

const SIGNS: Readonly<Record<Verdict, string>> = {
  shown: '✓',
  'not shown': '○',
  contradicted: '✗',
  'not testable': '–',
  'not computed yet': '…',
};

const ABOUT =
  'ParallelSearch teaches a language model to search for independent sub-questions at once; Search-R1 searches for one at a time. Both were trained here from the same small models.';

/** What a visitor asks first, and the report and sentence that answer it. */
const CHIEF_QUESTIONS = [
  ['Where does it answer more?', 'conditions', 0],
  ['Where does it only save calls?', 'main-results', 0],
  ['Where does it lose?', 'main-results', 1],
] as const;

/** What the methods are, the chief findings, and how many claims have each verdict. */
function chiefFindings(
  results: ReadonlyMap<string, ExperimentResult>,
  claims: readonly JudgedClaim[],
): Content {
  const findings = CHIEF_QUESTIONS.flatMap(([question, name, place]) => {
    const answer = splitSentences(results.get(name)?.finding ?? '').at(place);
    if (answer === undefined) return [];
    const link = markup('a', { href: `${name}.html` }, question);
    return [markup('li', markup('b', link), markup('p', answer))];
  });
  const verdicts = formatList(countVerdicts(claims));
  const link = markup('a', { href: '#claims' }, `${claims.length} claims`);
  return [
    markup('p', ABOUT),
    findings.length > 0 && markup('ul.chief', findings),
    markup('p.about', 'Of the paper’s ', link, `, ${verdicts} here.`),
  ];
}

/** A section with one folded line per claim, and the rule. */
export function claimsSection(claims: readonly JudgedClaim[]): Markup {
  const numbers = markup('a', { href: 'index.json' }, 'index.json');
  const rule = markup('p', `${VERDICT_RULE} The numbers are in `, numbers, '.');
  return markup(
    'section',
    { 'aria-labelledby': 'claims' },
    markup('h2', { id: 'claims' }, 'The paper’s claims'),
    markup('ul.claims', decidedFirst(claims).map(claimMarkup)),
    markup('details', markup('summary', 'How verdicts are reached'), rule),
  );
}

function claimMarkup(claim: JudgedClaim): Markup {
  const { verdict, link } = claim;
  const details = Object.entries({
    Paper: claim.paper,
    'By the paper’s tables': claim.tables,
    Here: claim.found,
    Rule: claim.rule,
    Evidence: link && markup('a', { href: link }, 'cell that computes it'),
  }).map(([term, content]) => content && [markup('dt', term), markup('dd', content)]);
  const sign = markup('span', { 'aria-hidden': 'true' }, SIGNS[verdict]);
  const summary = markup(
    'summary',
    markup('span.verdict', sign, ` ${verdict}`),
    markup('span.claim', claim.claim),
    markup('span.found', claim.figure),
  );
  const folded = markup('details', summary, markup('dl', details));
  return markup('li', { id: `claim-${claim.id}` }, folded);
}

/** The verdicts that occur, each with its number of claims: `9 are shown`. */
const countVerdicts = (claims: readonly JudgedClaim[]): string[] =>
  Object.keys(SIGNS).flatMap((verdict) => {
    const count = matching(claims, { verdict }).length;
    return count > 0 ? `${count} ${count === 1 ? 'is' : 'are'} ${verdict}` : [];
  });
