/** The reports in one page of Markdown with pictures, for those who browse the repository and run nothing. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { sort } from 'd3-array';
import { writeFileSafely } from '../io/files.js';
import { readArtefacts, writeArtefact, type Artefact } from '../report/publication.js';
import { tableMarkdown } from '../report/table-formats.js';
import { EXPERIMENTS } from './list.js';
import { askedIn } from './reports.js';
import { judgeClaims, type JudgedClaim } from './verdicts.js';

/** What is shown of which report, by the names of its exported files. */
const SHOWN: readonly (readonly [report: string, artefact: string])[] = [
  ['main-results', 'gap-table'],
  ['main-results', 'untrained-charts-1'],
  ['main-results', 'entities-chart-2'],
  ['decomposition', 'parallelizing-chart'],
];

const INTRO = `# Reports

\`npm start\` writes the reports here, one self-contained HTML file each with its numbers in the JSON file of the same name; begin with
\`index.html\`. It writes this page, too. Figures are of a small world and small transformers: who is ahead and on which questions, never the paper’s levels.`;

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

/** What was found of each claim, those that were decided first. */
function claimsMarkdown(claims: readonly JudgedClaim[]): string {
  const rows = sort(claims, ({ parts }) => Number(parts.length === 0)).map(
    ({ claim, paper, found, verdict }) => [claim, paper, found, verdict],
  );
  const columns = ['Claim of the paper', 'The paper’s figure', 'Found here [95 %]', 'Verdict'];
  return tableMarkdown({ caption: 'The paper’s claims, and what was found here.', columns, rows });
}

/**
 * Writes `README.md` and the pictures in it into the folder of the reports.
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
  const claims = claimsMarkdown(judgeClaims(EXPERIMENTS, folder));
  const text = [`${INTRO} ${askedIn(folder)}\n`, ...parts, claims].join('\n');
  await writeFileSafely(path.join(folder, 'README.md'), text);
}
