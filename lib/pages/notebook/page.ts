/** Renders an executed notebook as a self-contained HTML page. */
import { joinStreams } from '../../notebook/kernel-outputs.js';
import {
  codeCells,
  codeLanguage,
  findVegaLite,
  isTypeScript,
  joinLines,
  MIME,
  type Cell,
  type CellOutput,
  type CodeCell,
  type MimeBundle,
  type Notebook,
} from '../../notebook/nbformat.js';
import type { VegaLiteSpec } from '../../report/charts/spec.js';
import { markup, markupHtml, trustedHtml, type Content, type Markup } from '../../report/markup.js';
import type { Artefact } from '../../report/publication.js';
import { setupText, type About } from '../../report/result.js';
import { TRANSCRIPT_STYLE } from '../../report/styles.js';
import type { TableCells } from '../../report/table-formats.js';
import { bundleScript, pageHtml } from '../page.js';
import { citationSection, layout, provenanceSection, sectionMarkup } from '../sections.js';
import { prepareCharts } from './charts.js';
import { createMarkdown } from './markdown.js';
import { cellOutput, isOpening, MIME_TYPES, outputMarkup, pre, type Rendering } from './outputs.js';
import { isPlainHtml } from './plain.js';

interface Report {
  html: string;
  title: string;
  /** The first paragraph of the notebook. */
  description: string;
}

/** Tag of a section's first cell that makes the page fold the section. */
const FOLDED = 'folded';
/** Characters of a page's description. */
const MAX_DESCRIPTION = 200;
/**
 * Renders an executed notebook: finding, text, outputs, folded code, contents, provenance
 * and citation. The code that loads the results moves to the end. Charts are pictures
 * that scripts make interactive; their data and tables can be downloaded. All text is
 * escaped, and HTML not written by `display` is sandboxed in a frame.
 * @param folder of the notebook, whose pictures are included. Default: none are
 */
export async function reportHtml(notebook: Notebook, folder?: string): Promise<Report> {
  const rendering: Rendering = {
    markdown: createMarkdown(folder),
    numCharts: 0,
    hasChart: false,
    charts: await prepareCharts(notebook),
  };
  const opening = findOpening(notebook);
  const about = opening && (opening.data[MIME.about] as About);
  // Cells that only load the results.
  const setup = opening
    ? notebook.cells.slice(0, notebook.cells.findIndex(hasOutputBesidesResults)).filter(isCode)
    : [];
  const shown = notebook.cells.filter((cell) => !setup.includes(cell as CodeCell));
  const openingHtml = opening ? joinLines(opening.data[MIME.html] as string | string[]) : '';
  const header = isPlainHtml(openingHtml) ? openingHtml : markupHtml(cellOutput(openingHtml));
  const sections = markupHtml(sectionsMarkup(shown, rendering));
  // Results come after the title, or first.
  const content = sections.replace(/^(?:[^]*?<\/h1>)?/, (start) => start + header);
  const { headings, paragraphs } = rendering.markdown;
  const title = headings.find((heading) => heading.level === 1)?.text ?? 'Report';
  const provenance = about
    ? [provenanceSection(about.provenance, { intro: setupText(about) })]
    : [];
  // Another kernel's numbers are not this library's; Deepnote names no kernel.
  const { kernelspec } = notebook.metadata;
  const isOwn = isTypeScript(notebook) && (kernelspec ?? codeLanguage(notebook)) !== undefined;
  const citation = isOwn ? [citationSection(title, about?.provenance.commit)] : [];
  const main = [
    trustedHtml(content),
    provenance.map(sectionMarkup),
    setup.map((cell) => codeCellMarkup(cell, rendering)),
    citation.map(sectionMarkup),
  ];
  const body = layout([...headings, ...provenance, ...citation], main);
  const scripts = [await browserScript('report')];
  const laterScript = rendering.numCharts > 0 ? await browserScript('report-charts') : '';
  const styles = content.includes('"ps-transcript"') ? TRANSCRIPT_STYLE : '';
  const description = [...(paragraphs[0] ?? '')].slice(0, MAX_DESCRIPTION).join('');
  const policy = content.includes('<iframe sandbox') ? FRAME_POLICY : undefined;
  const html = pageHtml({ title, description, body, styles, scripts, laterScript, policy });
  return { title, description, html };
}

/** Frames have the page's policy: they need their styles, such as colours of cells. */
const FRAME_POLICY = { 'style-src-elem': "'unsafe-inline'", 'style-src-attr': "'unsafe-inline'" };

/** A module of `pages/browser/`. */
const browserScript = (name: string): Promise<string> =>
  bundleScript(new URL(`../browser/${name}.js`, import.meta.url));

const isCode = (cell: Cell): cell is CodeCell => cell.cell_type === 'code';

/** Whether a code cell shows anything besides results. */
const hasOutputBesidesResults = (cell: Cell): boolean =>
  isCode(cell) && cell.outputs.some((output) => !isOpening(output));

/** The cells by section, folded behind its heading if its first cell is tagged so. */
function sectionsMarkup(cells: readonly Cell[], rendering: Rendering): Content {
  const sections: { isFolded: boolean; parts: Content[] }[] = [{ isFolded: false, parts: [] }];
  for (const cell of cells) {
    const isHeading = cell.cell_type === 'markdown' && /^#{1,3} /.test(joinLines(cell.source));
    if (isHeading) rendering.hasChart = false;
    if (isHeading && !joinLines(cell.source).startsWith('###'))
      sections.push({ isFolded: cell.metadata.tags?.includes(FOLDED) ?? false, parts: [] });
    sections.at(-1)!.parts.push(cellMarkup(cell, rendering));
  }
  return sections.map(({ isFolded, parts }) => {
    if (!isFolded) return parts;
    const html = markupHtml(parts);
    const [heading] = /^<h([12])\b.*?<\/h\1>/s.exec(html) ?? [''];
    const summary = markup('summary', trustedHtml(heading));
    return markup('details.section', summary, trustedHtml(html.slice(heading.length)));
  });
}

function cellMarkup(cell: Cell, rendering: Rendering): Content {
  if (cell.cell_type === 'markdown')
    return rendering.markdown.render(joinLines(cell.source), cell.attachments);
  return cell.cell_type === 'code'
    ? codeCellMarkup(cell, rendering)
    : rawCellMarkup(joinLines(cell.source), cell.metadata, rendering);
}

/** A raw cell has the format in its metadata, by default plain text. */
function rawCellMarkup(source: string, metadata: Cell['metadata'], rendering: Rendering): Content {
  const format = metadata.raw_mimetype ?? metadata.format;
  return MIME_TYPES.get(String(format))?.(source, rendering) ?? pre(source);
}

function codeCellMarkup(cell: CodeCell, rendering: Rendering): Markup {
  const source = joinLines(cell.source);
  const code = markup('pre', markup('code', source));
  const outputs = joinStreams(cell.outputs);
  const names = outputNames({ ...cell, outputs });
  return markup(
    'div.cell',
    { id: cell.id && cellAnchor(cell.id) },
    outputs.map((output, i) => outputMarkup(output, names[i], rendering)),
    source.trim() !== '' && markup('details.code', markup('summary', 'Code'), code),
  );
}

/** Names of exported files: the cell's id, with a number if it shows several figures. */
function outputNames({ id = 'figure', outputs }: CodeCell): string[] {
  const isFigure = (output: CellOutput): boolean =>
    'data' in output && (findVegaLite(output.data) !== undefined || MIME.table in output.data);
  const isAlone = outputs.filter(isFigure).length === 1;
  let number = 0;
  return outputs.map((output) => (isAlone || !isFigure(output) ? id : `${id}-${++number}`));
}

/** The charts and tables of an executed notebook, in order. */
export const notebookFigures = (notebook: Notebook): Artefact[] =>
  codeCells(notebook).flatMap((cell) => {
    const names = outputNames(cell);
    return cell.outputs.flatMap((output, i): Artefact[] => {
      const data: MimeBundle = 'data' in output ? output.data : {};
      const name = names[i];
      const chart = findVegaLite(data);
      const spec = chart && data[chart];
      const cells = data[MIME.table];
      if (spec) return [{ kind: 'chart', name, spec: spec as VegaLiteSpec }];
      return cells ? [{ kind: 'table', name, cells: cells as TableCells }] : [];
    });
  });

/** The output of the last results shown. */
const findOpening = (notebook: Notebook): { data: MimeBundle } | undefined =>
  codeCells(notebook)
    .flatMap(({ outputs }) => outputs.filter(isOpening))
    .filter((output) => 'data' in output)
    .at(-1);

export const cellAnchor = (cellId: string): string => `cell-${cellId}`;
