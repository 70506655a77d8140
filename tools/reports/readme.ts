/** Writes the README of the reports, and the chief claims in the project's README. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { matching } from '../../lib/evaluation/figures.js';
import type { ExperimentResult } from '../../lib/experiments/experiment.js';
import { EXPERIMENTS } from '../../lib/experiments/list.js';
import { mainResults } from '../../lib/experiments/main-results.js';
import { writeFileSafely } from '../../lib/io/files.js';
import { listReports, readResults } from '../../lib/pages/notebook/reports.js';
import { writeArtefact } from '../../lib/report/publication.js';
import { tableMarkdown } from '../../lib/report/table-formats.js';
import { decidedFirst, judgeClaims, type JudgedClaim } from './claims.js';
import { INTRO, questionsText } from './index-page.js';

/** Figures in the README of the reports. */
const SHOWN: readonly (readonly [experiment: string, figure: string])[] = [
  ['main-results', 'overall'],
  ['main-results', 'entities'],
  ['main-results', 'types'],
  ['conditions', 'leads'],
  ['decomposition', 'parallelizing'],
  ['main-results', 'untrained'],
  ['main-results', 'gaps'],
];

const HOW = `# Reports

\`npm start\` writes the reports here: one self-contained HTML file each, with its numbers in the JSON file of the same name. Start with
\`index.html\`. \`npm start\` also writes this page.`;

/** Writes the pictures of the figures and returns their Markdown. */
async function shownMarkdown(
  folder: string,
  results: ReadonlyMap<string, ExperimentResult>,
): Promise<string[]> {
  const parts: string[] = [];
  for (const [experiment, name] of SHOWN) {
    const result = results.get(experiment);
    if (!result) continue;
    const figure = result.figures[name];
    if (!figure)
      throw new Error(
        `Expected the result of ${experiment} to have a figure ${name}, but it has ${Object.keys(result.figures).join(', ')}.`,
      );
    if (figure.kind === 'table') parts.push(tableMarkdown(figure.cells));
    else {
      const file = `${experiment}-${name}`;
      await writeArtefact({ kind: 'chart', name: file, spec: figure.spec }, folder, ['svg']);
      parts.push(`![${figure.alt}](${file}.svg)\n`);
    }
  }
  return parts;
}

/** A table of claims with their verdicts; decided claims come first. */
function claimsMarkdown(claims: readonly JudgedClaim[], caption: string): string {
  const rows = decidedFirst(claims).map((one) => [one.claim, one.verdict, one.figure, one.paper]);
  const columns = ['Claim of the paper', 'Verdict', 'Here [95 %]', 'Paper'];
  return tableMarkdown({ caption, columns, rows });
}

/** Claims in the project's README. */
const CHIEF_CLAIMS = ['calls', 'seconds', 'recognises', 'average-em', 'parallel-em'];
/** The lines around the generated part of the project's README. */
const MARKS = ['<!-- written by npm start -->', '<!-- end -->'] as const;

/** Replaces the text between the marks, if there are any. */
export function replaceMarked(text: string, lines: string): string {
  const [from, to] = MARKS.map((mark) => text.indexOf(mark));
  return from < 0 || to < from
    ? text
    : `${text.slice(0, from + MARKS[0].length)}\n\n${lines}\n${text.slice(to)}`;
}

/**
 * Writes the `README.md` of the reports with its pictures, and the chief claims in the
 * `README.md` above.
 * @throws Error naming a figure that a result lacks
 */
export async function writeReadme(folder: string): Promise<void> {
  const results = readResults(folder);
  const questions = questionsText(results);
  const titles = new Map(listReports(folder).map(({ name, title }) => [name, title]));
  const findings = [...results].map(
    ([name, { finding }]) => `- **${titles.get(name) ?? name}**: ${finding}`,
  );
  const claims = judgeClaims(EXPERIMENTS, results);
  const all = claimsMarkdown(claims, 'The paper’s claims and the results here.');
  const figures = await shownMarkdown(folder, results);
  const text = [HOW, `${INTRO} ${questions}\n`, ...findings, '', ...figures, all].join('\n');
  await writeFileSafely(path.join(folder, 'README.md'), text);
  const above = path.join(folder, '..', 'README.md');
  if (!existsSync(above)) return;
  const chief = matching(claims, { id: CHIEF_CLAIMS });
  const readme = readFileSync(above, 'utf8');
  const caption = `ParallelSearch compared with Search-R1. ${questions}`;
  const finding = results.get(mainResults.name)?.finding;
  const headline = finding ? `**Main finding.** ${finding}\n\n` : '';
  const marked = replaceMarked(readme, `${headline}${claimsMarkdown(chief, caption)}`);
  if (marked !== readme) await writeFileSafely(above, marked);
}
