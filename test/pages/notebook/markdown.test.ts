import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Cell, CodeCell } from '../../../lib/notebook/nbformat.js';
import { createMarkdown } from '../../../lib/pages/notebook/markdown.js';
import { reportHtml } from '../../../lib/pages/notebook/page.js';
import { mimeBundle } from '../../../lib/report/display.js';
import { markupHtml } from '../../../lib/report/markup.js';
import { temporaryFolder } from '../../folder.js';
import { code, markdown, notebookOf } from '../../notebook/notebooks.js';
import { syntheticChart, syntheticReport } from '../../report/fixtures.js';

const page = async (...cells: Cell[]): Promise<string> =>
  (await reportHtml(notebookOf(markdown('# Title'), ...cells))).html;

describe('markdown', () => {
  it('links headings by unique, readable ids', () => {
    const { render, headings } = createMarkdown();
    const html = markupHtml(render('## What & why?\n\n## What *&* why?'));
    expect(html).toContain('<h2 id="what-why-2">What <em>&amp;</em> why?</h2>');
    expect(headings.map(({ id, text }) => [id, text])).toEqual([
      ['what-why', 'What & why?'],
      ['what-why-2', 'What & why?'],
    ]);
  });

  it("leaves the page's own ids alone", async () => {
    const chart = code('') as CodeCell;
    chart.outputs = [
      {
        output_type: 'display_data',
        data: await mimeBundle(syntheticChart(syntheticReport())),
        metadata: {},
      },
    ];
    const texts = ['# Later', '# BibTeX', '# Chart 1', '# Content', '# Cite', '[to](#Later)'];
    const { html } = await reportHtml(notebookOf(...texts.map((text) => markdown(text)), chart));
    const ids = [...html.matchAll(/<\w+[^<>]* id="([^"]+)"/g)].map(([, id]) => id);
    expect(ids).toEqual(expect.arrayContaining(['later', 'bibtex', 'chart-1', 'content', 'cite']));
    expect(ids).toEqual([...new Set(ids)]);
    expect(html).toContain('<a href="#later-section">to</a>');
  });

  // JupyterLab and nbconvert take a heading's text as its id, with hyphens for spaces.
  it.each([
    ['## 1. Set_up', '#1.-Set_up'],
    ['# $E=mc^2$ for all', '#$E=mc%5E2$-for-all'],
    ['# Études `x`', '#Études-x'],
  ])('follows links to %s', (heading, link) => {
    const { render, headings } = createMarkdown();
    const html = markupHtml(render(`[to](${link}) [top](#) [cell](#cell-a_B)\n\n${heading}`));
    expect(html).toContain(`<a href="#${headings[0].id}">to</a>`);
    expect(html).toContain('<a href="#">top</a> <a href="#cell-a_B">cell</a>');
  });

  it('shows raw HTML and unsafe links as text', () => {
    const { render } = createMarkdown();
    const html = markupHtml(
      render(
        '<img src=x onerror=alert(1)>\n\na <b>b</b> [c](javascript:alert(1)) [d](https://x.org) [e](a.html)',
      ),
    );
    expect(html).not.toMatch(/<img|<b>|href="javascript:/);
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(html).toContain('<a href="https://x.org">d</a> <a href="a.html">e</a>');
  });

  it('leaves formulas unchanged', async () => {
    const lines = ['$\\{1, 2\\}$', '$a *b* c$', '$x_i \\\\ y_i * z_i$'];
    // Jupyter's other delimiters.
    const others = ['$ x * \\{y\\} * z $', '\\\\(x *y* z\\\\)', '\\\\[\n*x* \\{y\\}\n\\\\]'];
    const formulas = [...lines, ...others, '$$\nf_*(x) = *\\\\\n$$'];
    const html = await page(markdown(`The set ${formulas.join(' and ')}, for $5 or *$6*.`));
    for (const formula of formulas) expect(html).toContain(formula);
    expect(html).toContain('for $5 or <em>$6</em>');
    const blocks = [
      '$$\na\n- b\n\n    = c\n===\n$$',
      '\\begin{align*}\nx_1 *y* \\\\\n# 1\n\\end{align*}',
    ];
    for (const block of blocks)
      expect(await page(markdown(`So\n${block}\n\n*end*`))).toContain(
        `<p>So</p>\n<p>${block}</p>\n<p><em>end</em></p>`,
      );
  });

  it('keeps the signs of formulas in lists and quotes, which end with them', async () => {
    const shown = '$$\na\n- b\n+ c\n$$';
    for (const [first, start] of [
      ['- ', '  '],
      ['> ', '> '],
      ['1. > ', '   > '],
    ])
      expect(
        await page(markdown(first + ['$$', 'a', '- b', '+ c', '$$'].join(`\n${start}`))),
      ).toContain(shown);
    const open = await page(markdown('- $$\n  a\n- b $$\n- c'));
    expect(open.match(/<li>/g)).toHaveLength(3);
  });

  it.each([
    ['$|x|$', '$|x|$'],
    ['$\\|a_1\\| < *b*$', '$\\|a_1\\| &lt; *b*$'],
    ['$$|x|$$', '$$|x|$$'],
    ['`^a$` or `b$`', '<code>^a$</code> or <code>b$</code>'],
    ['\\$a', '$a'],
  ])('keeps the cells of a table with %s', async (cell, shown) => {
    const html = await page(markdown(`| a | b |\n|---|---|\n| ${cell} | 2 |`));
    expect(html).toContain(`<td>${shown}</td>\n<td>2</td>`);
  });

  it('ends cells at bars outside formulas, and shows those of formulas in text, code and links', async () => {
    const rows = ['| `a$|b$` | 2 |', '| \\$a | b$ |', '| $5 | $6 |'];
    const html = await page(markdown(`| a | b |\n|---|---|\n${rows.join('\n')}`));
    expect(html).toContain('<td>`a$</td>\n<td>b$`</td>');
    expect(html).toContain('<td>$a</td>\n<td>b$</td>');
    expect(html).toContain('<td>$5</td>\n<td>$6</td>');
    const text = '# Of $|x|$\n\n    $|y|$\n\n[$|z|$](https://x.org/$a|b$)';
    const { html: whole, title } = await reportHtml(notebookOf(markdown(text)));
    expect(title).toBe('Of $|x|$');
    expect(whole).toContain('$|y|$');
    expect(whole).toContain('<a href="https://x.org/$a%7Cb$">$|z|$</a>');
  });

  it('shows cells beyond the columns of a table, which GFM drops', async () => {
    const rows = ['| 1 | 2 | *c* | d\\|e |', '3|4', '|5| | |'];
    const places = [
      ['', ''],
      ['> ', '> '],
      ['- ', '  '],
    ];
    const tables = places.map(
      ([first, start]) => first + ['| a | b |', '|---|---|', ...rows].join(`\n${start}`),
    );
    for (const table of tables) {
      const html = await page(markdown(table));
      expect(html).toMatch(/<td>2<\/td>\s*<td><em>c<\/em><\/td>\s*<td>d\|e<\/td>\s*<\/tr>/);
      expect(html.match(/<td>/g)).toHaveLength(8);
    }
  });

  it('renders many environments that end after their list', { timeout: 5000 }, async () => {
    const item = '\\begin{a}\n\n  '.repeat(40_000);
    expect(await page(markdown(`- ${item}\n\n\\end{a}`))).toContain('end{a}');
  });

  it('renders a megabyte of environments without an end', { timeout: 5000 }, async () => {
    const text = '\\begin{a} x '.repeat(80_000);
    expect(await page(markdown(`${text}y`))).toContain(`${text}y`);
    const code = await page(markdown('`\\begin{a}` \\\\begin{b}'));
    expect(code).toContain('<code>\\begin{a}</code> \\begin{b}');
  });

  it('renders backticks of many lengths that close no code span', { timeout: 5000 }, async () => {
    const runs = Array.from({ length: 300 }, (_, i) => '`'.repeat(i + 1));
    expect(await page(markdown(runs.join(' ')))).toContain(runs.at(-1)!);
  });
});

describe('pictures', () => {
  const folder = join(temporaryFolder(), 'notebooks');
  const [png, outside] = [join(folder, 'my dot.PNG'), join(folder, '..', 'dot.png')];
  mkdirSync(folder, { recursive: true });
  for (const file of [png, outside]) writeFileSync(file, 'pixels');
  const render = (source: string): string =>
    markupHtml(createMarkdown(folder).render(`![A dot](${source})`));

  it('of the notebook’s folder are included', () => {
    const base64 = Buffer.from('pixels').toString('base64');
    expect(render('my%20dot.PNG')).toContain(
      `<img alt="A dot" src="data:image/png;base64,${base64}">`,
    );
  });

  it('keep the bytes of an SVG in the encoding that it declares', () => {
    const svg = `<?xml version="1.0" encoding="ISO-8859-1"?><svg xmlns="http://www.w3.org/2000/svg"><text>Söder</text></svg>`;
    const bytes = Buffer.from(svg, 'latin1');
    writeFileSync(join(folder, 'latin.svg'), bytes);
    expect(render('latin.svg')).toContain(`base64,${bytes.toString('base64')}"`);
  });

  it.each(['../dot.png', 'https://x.org/dot.png', 'none.png', 'attachment:dot.png', outside])(
    'from elsewhere are named: %s',
    (source) => {
      expect(render(source)).toContain(`A dot (picture not included: ${source})`);
    },
  );
});
