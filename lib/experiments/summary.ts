/**
 * The reports in one page of Markdown with pictures, for those who browse the repository
 * and run nothing.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { writeFileSafely } from '../io/files.js';
import { readArtefacts, writeArtefact, type Artefact } from '../report/publication.js';
import { tableMarkdown } from '../report/table-formats.js';
import { EXPERIMENTS } from './list.js';
import { askedIn, INTRO, readReports } from './reports.js';
import { decidedFirst, judgeClaims, type JudgedClaim } from './verdicts.js';

/** What is shown of which report, by the names of its exported files. */
const SHOWN: readonly (readonly [report: string, artefact: string])[] = [
  ['main-results', 'entities-chart-1'],
  ['decomposition', 'parallelizing-chart'],
  ['main-results', 'untrained-charts-1'],
  ['main-results', 'gap-table'],
];

const HOW = `# Reports

\`npm start\` writes the reports here, one self-contained HTML file each with its numbers in the JSON file of the same name; begin with
\`index.html\`. It writes this page, too.`;

/** The charts and tables of {@link SHOWN} whose reports are there. */
function shownIn(folder: string): Artefact[] {
  return SHOWN.flatMap(([report, name]) => {
    const file = path.join(folder, `${report}.html`);
    if (!existsSync(file)) return [];
    const artefact = readArtefacts(readFileSync(file, 'utf8')).find((one) => one.name === name);
    if (artefact) return [artefact];
    throw new Error(`Expected ${file} to show ${name}, but it does not. Export the report again.`);
  });
}

/** What was found of each claim, those that were decided first, in the index's words. */
function claimsMarkdown(claims: readonly JudgedClaim[], caption: string): string {
  const rows = decidedFirst(claims).map(({ claim, paper, figure, verdict }) => [
    claim,
    verdict,
    figure,
    paper,
  ]);
  return tableMarkdown({
    caption,
    columns: ['Claim of the paper', 'Verdict', 'Found here [95 %]', 'The paper’s figure'],
    rows,
  });
}

/** The claims of the small table in the project's README. */
const CHIEF_CLAIMS = ['calls', 'seconds', 'recognises', 'average-em', 'parallel-em'];
/** What stands between these lines of it is written here. */
const MARKS = ['<!-- npm start writes these lines -->', '<!-- as far as here -->'] as const;

/** A text with other lines between the marks; as it is where it has none. */
export function withMarked(text: string, lines: string): string {
  const [from, to] = MARKS.map((mark) => text.indexOf(mark));
  return from < 0 || to < from
    ? text
    : `${text.slice(0, from + MARKS[0].length)}\n\n${lines}\n${text.slice(to)}`;
}

/**
 * Writes `README.md` and the pictures in it into the folder of the reports, and its
 * chief figures into the `README.md` above.
 * @throws Error naming the report that lacks what is shown of it
 */
export async function writeSummary(folder: string): Promise<void> {
  const parts: string[] = [];
  for (const artefact of shownIn(folder)) {
    if (artefact.kind === 'table') parts.push(tableMarkdown(artefact.cells));
    else {
      await writeArtefact(artefact, folder, ['svg']);
      parts.push(`![${String(artefact.spec.description)}](${artefact.name}.svg)\n`);
    }
  }
  const asked = askedIn(folder);
  const found = readReports(folder).flatMap(({ title, finding }) =>
    finding ? [`- **${title}**: ${finding}`] : [],
  );
  const claims = judgeClaims(EXPERIMENTS, folder);
  const all = claimsMarkdown(claims, 'The paper’s claims, and what was found here.');
  const text = [HOW, `${INTRO} ${asked}\n`, ...found, '', ...parts, all].join('\n');
  await writeFileSafely(path.join(folder, 'README.md'), text);
  const above = path.join(folder, '..', 'README.md');
  if (!existsSync(above)) return;
  const chief = claims.filter(({ id }) => CHIEF_CLAIMS.includes(id));
  const readme = readFileSync(above, 'utf8');
  const marked = withMarked(
    readme,
    claimsMarkdown(chief, `ParallelSearch beside Search-R1. ${asked}`),
  );
  if (marked !== readme) await writeFileSafely(above, marked);
}
