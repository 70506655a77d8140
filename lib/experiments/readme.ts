/** The findings in Markdown with pictures, for readers who browse the repository. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { writeFileSafely } from '../io/files.js';
import { writeArtefact } from '../report/publication.js';
import { tableMarkdown } from '../html/table.js';
import type { ExperimentResult } from './experiment.js';
import { EXPERIMENTS } from './list.js';
import { askedText, INTRO, listReports, readResults } from './reports.js';
import { decidedFirst, judgeClaims, type JudgedClaim } from './verdicts.js';

/** The figures of results that are shown. */
const SHOWN: readonly (readonly [experiment: string, figure: string])[] = [
  ['main-results', 'calls'],
  ['decomposition', 'decomposed'],
  ['main-results', 'untrained'],
  ['main-results', 'gaps'],
];

const HOW = `# Reports

\`npm start\` writes the reports here: one self-contained HTML file each, with its numbers in the JSON file of the same name. Start with
\`index.html\`. \`npm start\` also writes this page.`;

/** Writes the pictures of the shown figures. Returns their Markdown. */
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

/** The verdict on each claim, those that figures decide first. */
function claimsMarkdown(claims: readonly JudgedClaim[], caption: string): string {
  const rows = decidedFirst(claims).map(({ claim, paper, figure, verdict }) => [
    claim,
    verdict,
    figure,
    paper,
  ]);
  const columns = ['Claim of the paper', 'Verdict', 'Found here [95 %]', 'The paper’s figure'];
  return tableMarkdown({ caption, columns, rows });
}

/** The claims in the small table of the project's README. */
const CHIEF_CLAIMS = ['calls', 'seconds', 'recognises', 'average-em', 'parallel-em'];
/** What is between these lines of the README is written here. */
const MARKS = ['<!-- written by npm start -->', '<!-- end -->'] as const;

/** A text with other lines between the marks; unchanged if it has none. */
export function replaceMarked(text: string, lines: string): string {
  const [from, to] = MARKS.map((mark) => text.indexOf(mark));
  return from < 0 || to < from
    ? text
    : `${text.slice(0, from + MARKS[0].length)}\n\n${lines}\n${text.slice(to)}`;
}

/**
 * Writes `README.md` and its pictures into the folder of the reports, and the chief
 * claims into the `README.md` above.
 * @throws Error naming a figure that a result lacks
 */
export async function writeReadme(folder: string): Promise<void> {
  const results = readResults(folder);
  const asked = askedText(results);
  const titles = new Map(listReports(folder).map(({ name, title }) => [name, title]));
  const findings = [...results].map(
    ([name, { finding }]) => `- **${titles.get(name) ?? name}**: ${finding}`,
  );
  const claims = judgeClaims(EXPERIMENTS, results);
  const all = claimsMarkdown(claims, 'The paper’s claims and what was found here.');
  const figures = await shownMarkdown(folder, results);
  const text = [HOW, `${INTRO} ${asked}\n`, ...findings, '', ...figures, all].join('\n');
  await writeFileSafely(path.join(folder, 'README.md'), text);
  const above = path.join(folder, '..', 'README.md');
  if (!existsSync(above)) return;
  const chief = claims.filter(({ id }) => CHIEF_CLAIMS.includes(id));
  const readme = readFileSync(above, 'utf8');
  const caption = `ParallelSearch compared with Search-R1. ${asked}`;
  const marked = replaceMarked(readme, claimsMarkdown(chief, caption));
  if (marked !== readme) await writeFileSafely(above, marked);
}
