/** The layout of pages, and the sections that end them: provenance and citation. */
import { createRequire } from 'node:module';
import { markup, type Content, type Markup } from '../report/markup.js';
import { latexText } from '../report/table-formats.js';

/** A heading with an entry in the table of contents. */
export interface Heading {
  id: string;
  text: string;
  /** Default: 2. */
  level?: number;
}

interface Section extends Heading {
  content: Content;
}

export const sectionMarkup = ({ id, text, content }: Section): Content => [
  markup('h2', { id }, text),
  content,
];

/** Lays out a page's body: a table of contents, if there are headings, and `main`. */
export const layout = (headings: readonly Heading[], main: Content): Markup =>
  markup(
    'div.layout',
    headings.length > 0 && contents(headings),
    markup('main', { id: 'content' }, main),
  );

/** The table of contents: links to headings of levels 2 and 3. */
function contents(headings: readonly Heading[]): Markup {
  const items = headings
    .filter(({ level = 2 }) => level === 2 || level === 3)
    .map(({ level = 2, text, id }) =>
      markup(`li.level-${level}`, markup('a', { href: `#${id}` }, text)),
    );
  const list = markup(
    'details',
    { open: true },
    markup('summary', 'Contents'),
    markup('ul', items),
  );
  return markup('nav.toc', { 'aria-label': 'Contents' }, list);
}

const PROVENANCE_TITLES: Record<string, string> = {
  seed: 'Seed',
  seeds: 'Seeds',
  commit: 'Commit',
  configHash: 'Configuration hash',
  backend: 'Backend',
  hardware: 'Hardware',
  node: 'Node',
  durationSeconds: 'Duration (seconds)',
  repeats: 'Repeats',
  warmUps: 'Seeds of initial models',
  questions: 'Questions',
  testDrawnFrom: 'Seed of the test questions (hash of a commit)',
  load: 'Machine load',
  figures: 'Figures',
  costs: 'Cost of a request (ms)',
  generation: 'Model call',
  recorded: 'Recorded earlier',
  timing: 'Seconds per question',
  computedHere: 'Computed on this machine',
  takenFromRecords: 'From records',
};

/** Lists the provenance as names and values after `intro`, folded unless `isOpen`. */
export function provenanceSection(
  provenance: Readonly<Record<string, unknown>>,
  { intro = '', isOpen = false } = {},
): Section {
  const list = Object.entries(provenance).map(([name, value]) => [
    markup('dt', PROVENANCE_TITLES[name] ?? name),
    markup('dd', valueText(value)),
  ]);
  const summary = markup('summary', 'Seeds, commit, machine');
  const details = markup('details', { open: isOpen }, summary, markup('dl.provenance', list));
  const content = [intro !== '' && markup('p', intro), details];
  return { id: 'provenance', text: 'Where the numbers come from', content };
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([name, inner]) => `${name}: ${valueText(inner)}`)
      .join('; ');
  }
  return JSON.stringify(value) ?? '–';
}

/** The paper, as in CITATION.cff. */
export const PAPER_BIBTEX = `@article{zhao2025parallelsearch,
  title = {{ParallelSearch}: Train your {LLMs} to Decompose Query and Search Sub-queries in Parallel with Reinforcement Learning},
  author = {Zhao, Shu and Yu, Tan and Xu, Anbang and Singh, Japinder and Shukla, Aaditya and Akkiraju, Rama},
  journal = {arXiv preprint arXiv:2508.09303},
  year = {2025},
  month = aug,
  doi = {10.48550/arXiv.2508.09303},
  url = {https://arxiv.org/abs/2508.09303}
}`;

/** The software, with the report's title and the commit that computed its numbers. */
export function reportBibtex(title: string, commit?: unknown): string {
  const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };
  const notes = [
    `Report: ${latexText(title)}`,
    ...(typeof commit === 'string' ? [`commit ${latexText(commit)}`] : []),
  ];
  return `@software{parallelsearch-ts,
  title = {{ParallelSearch.ts}: reinforcement learning for parallel search on {TensorFlow.js}},
  author = {{The ParallelSearch.ts contributors}},
  version = {${version}},
  note = {${notes.join(', ')}}
}`;
}

/** Both entries, folded; the copy button needs scripts. */
export function citationSection(title: string, commit?: unknown): Section {
  const entries = `${PAPER_BIBTEX}\n\n${reportBibtex(title, commit)}`;
  const copy = { type: 'button', 'data-copy': 'bibtex', hidden: true };
  const content = [
    markup('p', 'The paper, and the software that computed these numbers:'),
    markup('details', markup('summary', 'BibTeX'), markup('pre.bibtex', { id: 'bibtex' }, entries)),
    markup('p', markup('button', copy, 'Copy BibTeX'), ' ', markup('span', { role: 'status' })),
  ];
  return { id: 'cite', text: 'To cite', content };
}
