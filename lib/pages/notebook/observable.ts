/**
 * Exports a notebook with its outputs in the HTML format of Observable Notebook Kit
 * (https://observablehq.com/notebook-kit/kit). Charts are cells that redraw from named
 * data (`data1`), so that other cells can use it. The TypeScript, which needs Node, is
 * only shown.
 */
import {
  codeLanguage,
  findVegaLite,
  joinLines,
  MIME,
  type Cell,
  type CellOutput,
  type MimeBundle,
  type Notebook,
} from '../../notebook/nbformat.js';
import type { VegaLiteSpec } from '../../report/charts/spec.js';
import { markup, markupHtml, trustedHtml, type Content } from '../../report/markup.js';
import { attachedPicture, createMarkdown } from './markdown.js';
import { tracebackText, outputContent } from './outputs.js';
import { terminalText } from './terminal-text.js';

type ObservableType = 'text/markdown' | 'text/html' | 'module';
interface ObservableCell {
  type: ObservableType;
  source: string;
}

/** An attached picture in Markdown: its alternative text and address. */
const IMAGE = /!\[([^\]]*)\]\((attachment:[^\s)]+)\)/g;

const EMBED = `import embed from "npm:vega-embed@7";`;

/** @returns the content of a file that Notebook Kit opens and builds */
export function observableHtml(notebook: Notebook): string {
  const charts = { count: 0 };
  const language = codeLanguage(notebook) ?? 'typescript';
  const shown = notebook.cells.flatMap((cell) => toCells(cell, charts, language));
  const cells = charts.count > 0 ? [...shown, { type: 'module', source: EMBED } as const] : shown;
  const { render, headings } = createMarkdown();
  for (const { cell_type, source } of notebook.cells)
    if (cell_type === 'markdown') render(joinLines(source));
  const title = headings.find(({ level }) => level === 1)?.text ?? 'Notebook';
  const scripts = cells.map(({ type, source }, i) => {
    const indented = source.replace(/^(?=.)/gm, '    ').replace(/<(?=\\*\/script[\s>])/gi, '<\\');
    return ['\n  ', markup('script', { id: i + 1, type }, trustedHtml(`\n${indented}\n  `))];
  });
  const parts = ['\n  ', markup('title', title), scripts, '\n'];
  return `<!doctype html>\n${markupHtml(markup('notebook', { theme: 'air' }, parts))}\n`;
}

/** Escapes what a cell there would interpolate or unescape. */
const html = (content: Content): ObservableCell => ({
  type: 'text/html',
  source: markupHtml(content)
    .replace(/\$(?=\{)/g, '&#36;')
    .replaceAll('\\', '&#92;'),
});

function toCells(cell: Cell, charts: { count: number }, language: string): ObservableCell[] {
  const source = joinLines(cell.source);
  const isBlank = source.trim() === '';
  if (cell.cell_type === 'code') {
    const shown = markup('pre', markup('code', { class: `language-${language}` }, source));
    const code = markup('details', markup('summary', 'Code'), shown);
    const outputs = cell.outputs.flatMap((output) => outputCells(output, charts));
    return isBlank ? outputs : [...outputs, html(code)];
  }
  if (isBlank) return [];
  if (cell.cell_type !== 'markdown') return [html(markup('pre', source))];
  const text = source
    .replace(/\$(?=\{)/g, '\\$')
    .replace(IMAGE, (image: string, alt: string, address: string) => {
      const attached = attachedPicture(address, cell.attachments, alt);
      return attached ? markupHtml(attached) : image;
    });
  return [{ type: 'text/markdown', source: text }];
}

function outputCells(output: CellOutput, charts: { count: number }): ObservableCell[] {
  if (output.output_type === 'stream')
    return [html(markup('pre', terminalText(joinLines(output.text))))];
  if (output.output_type === 'error') return [html(markup('pre', tracebackText(output)))];
  const data: MimeBundle = output.data;
  const text = (mime: string): string => joinLines((data[mime] ?? '') as string | string[]);
  const chart = findVegaLite(data);
  if (chart) return chartCells(data[chart] as VegaLiteSpec, ++charts.count);
  const drawn = text(MIME.html) || text(MIME.svg);
  return [html(drawn ? trustedHtml(drawn) : outputContent(data))];
}

/** The data of a chart under a name, then the chart with the current Vega-Lite. */
function chartCells({ data, $schema: _, ...spec }: VegaLiteSpec, number: number): ObservableCell[] {
  const { values } = (data ?? {}) as { values?: unknown };
  const drawn = [
    `const chart${number} = display(document.createElement("div"));`,
    `await embed(chart${number}, {`,
    `  ...${JSON.stringify(spec)},`,
    `  data: ${values === undefined ? JSON.stringify(data) : `{ values: data${number} }`},`,
    '}, { actions: false });',
  ];
  return [
    ...(values === undefined
      ? []
      : [{ type: 'module', source: `const data${number} = ${JSON.stringify(values)};` } as const]),
    { type: 'module', source: drawn.join('\n') },
  ];
}
