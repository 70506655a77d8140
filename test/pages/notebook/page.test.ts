import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Cell, CodeCell } from '../../../lib/notebook/nbformat.js';
import { MIME } from '../../../lib/notebook/nbformat.js';
import { notebookFigures, reportHtml } from '../../../lib/pages/notebook/page.js';
import { mimeBundle } from '../../../lib/report/display.js';
import { writeArtefact } from '../../../lib/report/publication.js';
import { temporaryFolder } from '../../folder.js';
import { cases } from '../../full.js';
import { code, markdown, notebookOf } from '../../notebook/notebooks.js';
import { shown, syntheticChart, syntheticReport, syntheticTable } from '../../report/fixtures.js';

const results = syntheticReport();
const NUMBER = { field: 'a', type: 'quantitative' };

it('cites this library unless another kernel computed the numbers', async () => {
  const notebook = notebookOf(markdown('# Films'));
  expect((await reportHtml(notebook)).html).toContain('To cite');
  Object.assign(notebook.metadata.kernelspec!, { language: 'python' });
  expect((await reportHtml(notebook)).html).not.toContain('To cite');
  // As Colab and VS Code write it.
  const kernelspec = { name: 'python3', display_name: 'Python 3' };
  for (const metadata of [{ kernelspec, language_info: { name: 'python' } }, { kernelspec }])
    expect((await reportHtml({ ...notebook, metadata })).html).not.toContain('To cite');
  const deepnote = { deepnote: {}, deepnote_notebook_id: 'a' };
  expect((await reportHtml({ ...notebook, metadata: deepnote })).html).not.toContain('To cite');
});

describe('reportHtml', () => {
  it('is one page with contents, folded code, outputs and provenance', async () => {
    const cells = [
      markdown('# Title <1>\n\nAbout *this*.'),
      markdown('## Part'),
      await shown('a', results, syntheticTable(results)),
    ];
    const { html, title, description } = await reportHtml(notebookOf(...cells));
    expect(title).toBe('Title <1>');
    expect(html).toContain('<title>Title &lt;1&gt;</title>');
    expect(html).toContain('<meta name="description" content="About this.">');
    expect(html).toContain('<li class="level-2"><a href="#part">Part</a></li>');
    expect(html).toContain(
      '<details class="code"><summary>Code</summary><pre><code>show(&quot;a&quot;, &quot;&lt;&amp;&gt;&quot;)',
    );
    expect(html).toContain('<dt>Commit</dt><dd>&lt;0000000&gt;</dd>');
    expect(html).toContain('<caption>A &lt;table&gt;</caption>');
    expect(description).toBe('About this.');
    expect(html.includes('vegaEmbed')).toBe(false);
  });

  it('keeps formulas in title and description', async () => {
    const formulas = '$a_b c$, $\\xi \\\\ y_i$ and $\\{x\\}^*[1]$';
    const text = `Loss ${formulas}\nof *all*\n===\n\nSee [this](x.md): ${formulas}\nor \`a_b\`.`;
    const { title, description } = await reportHtml(notebookOf(markdown(text)));
    expect(title).toBe(`Loss ${formulas} of all`);
    expect(description).toBe(`See this: ${formulas} or a_b.`);
  });

  it('offers tables in full precision', async () => {
    const cell = code('1') as CodeCell;
    const data = await mimeBundle([{ a: 1 / 3 }]);
    cell.outputs.push({ output_type: 'display_data', data, metadata: {} });
    const notebook = notebookOf(cell);
    const { html } = await reportHtml(notebook);
    const csv = `a\r\n${1 / 3}\r\n`;
    expect(html).toContain(`base64,${Buffer.from(csv).toString('base64')}`);
    const [figure] = notebookFigures(notebook);
    const [file] = await writeArtefact(figure, temporaryFolder(), ['csv']);
    expect(readFileSync(file, 'utf8')).toBe(csv);
  });

  it('starts with finding and chart, and ends with the data and the code that loads it', async () => {
    const finding = 'It is <better>: 0.5 [0.4, 0.6].';
    const found = { ...results, finding, summary: 'Read.' };
    const cells = [await shown('load', found), await shown('a', syntheticChart(results))];
    const { html } = await reportHtml(
      notebookOf(markdown('# T\n\nAbout.'), ...cells, markdown('## Part')),
    );
    const places = [
      '</h1><header class="opening"><p class="headline">It is &lt;better&gt;: 0.5 [0.4, 0.6].</p>',
      '<p>About.</p>',
      '<figure class="chart"',
      '<h2 id="part">',
      '<p>Read.</p>',
      'show(&quot;load&quot;',
    ];
    const order = places.map((text) => html.indexOf(text));
    expect(order.every((place, i) => place > (order[i - 1] ?? 0))).toBe(true);
    const untitled = await reportHtml(notebookOf(markdown('## Part'), ...cells));
    expect(untitled.html).toMatch(/<header class="opening">.*<h2 id="part">/s);
  });

  it('folds tagged sections, tables of sections with a chart, and long tables', async () => {
    const tagged = { ...markdown('## How\n\nSo.'), metadata: { tags: ['folded'] } };
    const [chart, table] = [syntheticChart(results), syntheticTable(results)];
    const short = { ...table, cells: { ...table.cells, rows: table.cells.rows.slice(0, 2) } };
    const cells = [
      markdown('## One'),
      await shown('b', short, chart, short),
      markdown('### Two'),
      await shown('c', short),
    ];
    const { html } = await reportHtml(notebookOf(tagged, ...cells, await shown('d', table)));
    expect(html).toContain(
      '<details class="section"><summary><h2 id="how">How</h2></summary>\n<p>So.</p>\n</details>',
    );
    const first = await reportHtml(notebookOf({ ...tagged, source: '# All\n\nSo.' }));
    expect(first.html).toContain('<summary><h1 id="all">All</h1>');
    const tables = html.matchAll(
      /(<summary>Table: [^<]*<\/summary>)?<div class="scroll" role="group" aria-label="A &lt;t/g,
    );
    const isFolded = Array.from(tables, ([, summary]) => summary !== undefined);
    expect(isFolded).toEqual([false, true, false, true]);
  });

  it('contains charts as pictures with their interactive specifications', async () => {
    const chart = syntheticChart(results);
    const { html } = await reportHtml(notebookOf(await shown('figure', chart, chart)));
    const marked = html.replace(/<script(| type="text\/plain"[^>]*)>[\s\S]*?<\/script>/g, '');
    const count = (pattern: RegExp): number => marked.match(pattern)?.length ?? 0;
    expect(count(/<figure class="chart"/g)).toBe(2);
    expect(count(/<svg xmlns/g)).toBe(2);
    expect(
      count(/<script type="application\/json" data-chart="chart-\d" data-name="figure-\d">/g),
    ).toBe(2);
    expect(count(/<div class="drawing" role="img" tabindex="0" aria-label="[^"]+">/g)).toBe(2);
    expect(marked.includes(`aria-label="${chart.alt}"`)).toBe(true);
    expect(count(/<(script|link|img|iframe)[^>]+(src|href)="(?!data:)/g)).toBe(0);
    expect(count(/default-src 'none'/g)).toBe(1);
    expect(html.length).toBeLessThan(3e6);
    const ids = [...marked.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('escapes streams and errors and drops terminal colours', async () => {
    const cell = code('x') as CodeCell;
    const text = ['\u001b[31m<red>\u001b[0m\n'];
    cell.outputs.push({ output_type: 'stream', name: 'stderr', text });
    cell.outputs.push({ output_type: 'error', ename: 'E', evalue: 'v', traceback: ['<trace>'] });
    const { html } = await reportHtml(notebookOf(cell));
    expect(html).toContain('<pre class="stderr">&lt;red&gt;\n</pre>');
    expect(html).toContain('<pre class="stderr">&lt;trace&gt;\nE: v</pre>');
  });
});

describe('outputs and cells of all kinds', () => {
  const page = async (...cells: Cell[]): Promise<string> =>
    (await reportHtml(notebookOf(markdown('# Title'), ...cells))).html;
  const showing = (...outputs: object[]): CodeCell =>
    ({ ...code('1'), id: 'one', outputs }) as unknown as CodeCell;
  const displayed = (data: Record<string, unknown>): CodeCell =>
    showing({ output_type: 'display_data', data, metadata: {} });

  it.each([
    ['text/markdown', 'some **bold**', '<strong>bold</strong>'],
    ['text/latex', '$x_i$', '<pre>$x_i$</pre>'],
    ['image/jpeg', 'SlBFRw==', 'src="data:image/jpeg;base64,SlBFRw=="'],
    ['image/gif', 'R0lG', 'src="data:image/gif;base64,R0lG"'],
    ['application/json', { key: [1] }, '&quot;key&quot;'],
    ['image/avif', 'AAAA', 'src="data:image/avif;base64,AAAA"'],
    ['text/csv', 'a,b', '<pre>a,b</pre>'],
    ['application/x-strange', 'anything', 'application/x-strange is not shown'],
  ])('shows %s', async (mime, value, shown) => {
    expect(await page(displayed({ [mime]: value }))).toContain(shown);
  });

  it('prefers supported types to text', async () => {
    const html = await page(displayed({ 'image/jpeg': 'SlBFRw==', 'text/plain': 'a picture' }));
    expect(html).toContain('<img alt="a picture" src="data:image/jpeg');
  });

  it('reports HTML that needs scripts or other pages', async () => {
    const plotly = '<div><div id="p"></div><script>Plotly.newPlot("p")</script></div>';
    const video = '<iframe src="https://videos.test"></iframe>';
    const bokeh = '\n<div id="d" data-root-id="p" style="display: contents;"></div>\n';
    for (const html of [plotly, video, bokeh])
      expect(await page(displayed({ 'text/html': html }))).toMatch(/\(text\/html\) needs scripts/);
    const both = displayed({ 'text/html': plotly, 'image/png': 'iVBO' });
    expect(await page(both)).toContain('src="data:image/png');
    for (const html of ['<style>p{}</style>', `<p>Sales</p>${plotly}`])
      expect(await page(displayed({ 'text/html': html }))).not.toContain('needs scripts');
  });

  it.each([
    ['<table><tr><td>Loading ITables</td></tr></table><script>fill()</script>', true],
    ['<img src="https://x.org/dot.png"/>', true],
    ['<img width=9 src=dot.png>', true],
    ['<img srcset="https://x.org/dot.png 2x">', true],
    ['<svg><image xlink:href="https://x.org/dot.png"/></svg>', true],
    ['<p style="background: url(&quot;https://x.org/dot.png&quot;)">a</p>', true],
    ['<style>@import "https://x.org/a.css"</style><p>a</p>', true],
    ['<style>p { background: url(data:image/png;base64,iVBO) }</style><p>a</p>', false],
    ['<svg><image href="data:image/png;base64,iVBO"/><a href="https://x.org"></a></svg>', false],
    ['<style scoped>td {}</style><img src="data:image/png;base64,iVBO">', false],
    ['<audio controls><source src="data:audio/wav;base64,UklG" type="audio/wav"></audio>', false],
  ])('says that parts of HTML may be missing: %s', async (html, isIncomplete) => {
    const shown = await page(displayed({ 'text/html': html }));
    expect(shown).toContain('<iframe sandbox');
    expect(shown.includes('Parts of this output may be missing')).toBe(isIncomplete);
  });

  it('draws any version of Vega-Lite', async () => {
    const spec = { mark: 'point', data: { values: [{ a: 1 }] }, encoding: {} };
    for (const version of ['v4', 'v6', 'v5.20.1']) {
      const cell = displayed({ [`application/vnd.vegalite.${version}+json`]: spec });
      expect(await page(cell)).toContain('id="chart-1"');
    }
  });

  it('interprets carriage returns and backspaces like a terminal', async () => {
    const text = '  0%|\r 50%|# late\r100%|##\r\nab\b\bXY\nwhole\n';
    const stream = { output_type: 'stream', name: 'stdout', text };
    const html = await page(showing(stream));
    expect(html).toContain('<pre class="stdout">100%|##late\nXY\nwhole\n</pre>');
  });

  it('erases lines like a terminal, as for pip’s and wget’s progress', async () => {
    const text = 'pip\n a long bar\r\u001b[2K done\nDownloading\r\u001b[Kok\na\u001b[Kb\n';
    const git = 'remote: Counting objects\rremote: Done\u001b[K\n|\b/\b-\b\n';
    const stream = { output_type: 'stream', name: 'stdout', text: text + git };
    const html = await page(showing(stream));
    expect(html).toContain('<pre class="stdout">pip\n done\nok\nab\nremote: Done\n-\n</pre>');
  });

  it('joins the parts of a stream, as nbclient writes it', async () => {
    const part = (name: string, text: string) => ({ output_type: 'stream', name, text });
    const parts = ['10%\r', '20%\r', 'done\n'].map((text) => part('stderr', text));
    const html = await page(showing(...parts, part('stdout', 'a'), part('stdout', 'b\n')));
    expect(html).toContain('<pre class="stderr">done\n</pre><pre class="stdout">ab\n</pre>');
  });

  it('shows the text of a chart that is not shown', async () => {
    const html = await page(displayed({ [MIME.vegaLite]: 'no object', 'text/plain': 'a text' }));
    expect(html).toContain('is not shown: ');
    expect(html).toContain('<pre>a text</pre>');
  });

  it('shows the text of an output whose HTML is empty', async () => {
    const html = await page(displayed({ 'text/html': [' \n'], 'text/plain': 'a text' }));
    expect(html).toContain('<pre>a text</pre>');
  });

  it('says that a widget is not shown, and shows its text instead of its id', async () => {
    const widget = { 'application/vnd.jupyter.widget-view+json': { model_id: 'abc' } };
    const html = await page(displayed({ ...widget, 'text/plain': 'IntSlider(value=7)' }));
    const note = /<pre>This output .*widget-view.* needs scripts[^<]*/;
    expect(html).toMatch(new RegExp(`${note.source}\\nIntSlider\\(value=7\\)</pre>`));
    expect(await page(displayed(widget))).toMatch(note);
  });

  it('names the types of an output with empty JSON, such as Bokeh’s', async () => {
    const bokeh = { 'application/javascript': 'x', 'application/vnd.bokehjs_exec.v0+json': '' };
    expect(await page(displayed(bokeh))).toContain('application/javascript');
  });

  const point = { mark: 'point', encoding: { x: { field: 'a', type: 'quantitative' } } };
  const BLOCKING: [string, object][] = [
    ['data elsewhere', { ...point, data: { url: 'https://example.org/rows.json' } }],
    // Each of these takes as long as a chart may take.
    ['a billion rows', { ...point, data: { sequence: { start: 0, stop: 1e9, as: 'a' } } }],
    [
      'an endless expression',
      { ...point, transform: [{ calculate: `test(/(a+)+$/, '${'a'.repeat(40)}b')`, as: 'c' }] },
    ],
    [
      'a billion ticks',
      { ...point, encoding: { x: { ...point.encoding.x, axis: { tickCount: 1e9 } } } },
    ],
    [
      'rows that multiply',
      { ...point, transform: Array(9).fill({ flatten: ['list'], as: ['b'] }) },
    ],
  ];
  it.each(BLOCKING.slice(0, cases(1, BLOCKING.length)))(
    'does not draw a chart with %s, which would block the page',
    async (_, spec) => {
      const values = [{ a: 1, list: Array.from({ length: 20 }, (_, i) => i) }];
      const bundle = { [MIME.vegaLite]: { data: { values }, ...spec }, 'image/png': 'UE5H' };
      const html = await page(displayed(bundle));
      expect(html).not.toContain('data-chart');
      expect(html).toMatch(/is not shown: Expected the chart.*<img alt="" src="data:image\/png/s);
    },
  );

  it.each([
    { params: [{ name: 'n', value: 1, bind: { input: 'range' } }] },
    { layer: [{ ...point, params: [{ name: 'p', select: 'interval' }] }] },
    { config: { signals: [{ name: 's', on: [{ events: 'timer{9}', update: '1' }] }] } },
    { data: { values: 'a\n1', format: { type: 'csv' } } },
  ])('shows a chart that needs evaluation or events as a picture: %j', async (more) => {
    const spec = { ...('layer' in more ? {} : point), data: { values: [{ a: 1 }] }, ...more };
    const html = await page(displayed({ [MIME.vegaLite]: spec }));
    expect(html).not.toContain('data-chart="');
    expect(html).toMatch(/<svg .*Here it is a picture/s);
  });

  it('draws charts without options of Vega-Embed, and explains a missing picture', async () => {
    const data = { values: [{ a: 1 }] };
    const usermeta = { embedOptions: { patch: 'elsewhere.json' } };
    const html = await page(displayed({ [MIME.vegaLite]: { ...point, data, usermeta } }));
    expect(html).toContain('data-chart="');
    expect(html).not.toContain('elsewhere.json');
    const params = [{ name: 'n', bind: { input: 'range' }, expr: '((' }];
    const broken = await page(displayed({ [MIME.vegaLite]: { ...point, data, params } }));
    expect(broken).toContain('is not shown: ');
  });

  it('shows raw cells, and errors without a traceback', async () => {
    const error = { output_type: 'error', ename: 'RangeError', evalue: 'too far', traceback: [] };
    const raw: Cell = { cell_type: 'raw', metadata: {}, source: 'raw <b>' };
    const html = await page(raw, showing(error));
    expect(html).toContain('<pre>raw &lt;b&gt;</pre>');
    expect(html).toContain('RangeError: too far');
    const stopped = { ...error, ename: 'KeyboardInterrupt', evalue: '', traceback: ['at a'] };
    expect(await page(showing(stopped))).toContain('at a\nKeyboardInterrupt');
    const framed = await page(showing({ ...error, traceback: ['at <anonymous>'] }));
    expect(framed).toContain('at &lt;anonymous&gt;\nRangeError: too far');
    const whole = await page(
      showing({ ...error, traceback: ['\x1b[31mRangeError\x1b[0m: too far'] }),
    );
    expect(whole).toContain('<pre class="stderr">RangeError: too far</pre>');
  });

  it("shows pictures from the cell's attachments only", async () => {
    const cell = {
      ...markdown('![own](attachment:a%20b.png) ![far](https://example.org/x.png)'),
      attachments: { 'a b.png': { 'image/png': 'UE5H' } },
    } as Cell;
    const html = await page(cell);
    expect(html).toContain('<img alt="own" src="data:image/png;base64,UE5H">');
    expect(html).toContain('far (picture not included: https://example.org/x.png)');
  });

  it('shows SVG attachments and embedded pictures', async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';
    const latin1 = `<?xml version="1.0" encoding="ISO-8859-1"?>\n${svg}`;
    const drawing =
      '![own](attachment:a.svg) ![jupyter](attachment:b.svg) ![data](data:image/png;base64,UE5H)';
    const cell = {
      ...markdown(`${drawing} ![](https://x.org/far.png) ![odd](attachment:%FF.png)`),
      attachments: {
        'a.svg': { 'image/svg+xml': latin1 },
        'b.svg': { 'image/svg+xml': btoa(svg) },
      },
    } as Cell;
    const html = await page(cell);
    // The text is UTF-8 now, whatever the file was.
    expect(html).toContain(`<img alt="own" src="data:image/svg+xml;base64,${btoa(svg)}">`);
    // nbconvert does the same.
    expect(html).toContain(`<img alt="jupyter" src="data:image/svg+xml;base64,${btoa(svg)}">`);
    expect(html).toContain('<img alt="data" src="data:image/png;base64,UE5H">');
    expect(html).toContain(
      '(picture not included: https://x.org/far.png) odd (picture not included: attachment:%FF.png)</p>',
    );
  });

  it('shows raw cells of unknown formats as text', async () => {
    for (const format of ['constructor', 'toString', 'text/x-rst']) {
      const html = await page({ cell_type: 'raw', metadata: { format }, source: '<meta>' });
      expect(html).toContain('<pre>&lt;meta&gt;</pre>');
    }
  });

  it('shows results without a description in another type', async () => {
    for (const about of [null, {}, { provenance: 1 }, { provenance: { questions: 3 } }]) {
      const html = await page(displayed({ [MIME.about]: about, [MIME.html]: '<p>kept</p>' }));
      expect(html).toContain('<p>kept</p>');
    }
  });

  it.each([
    ['a log axis with 0', { encoding: { x: { ...NUMBER, scale: { type: 'log' } } } }, /zero/],
    ['an unknown channel', { encoding: { x: NUMBER, z: NUMBER } }, /z-encoding/],
    ['an unknown transform', { transform: [{ a: 1 }], encoding: { x: NUMBER } }, /transform/],
    ['a picture on the web', { mark: { type: 'image', url: 'https://x.org/dot.png' } }, /pictures/],
    ['an axis as wide as the page', { width: 'container', encoding: { x: NUMBER } }, undefined],
  ])('says that a chart may differ: %s', async (_, change, warning) => {
    const spec = { mark: 'point', data: { values: [{ a: 0 }, { a: 10 }] }, ...change };
    const [, note] = /This chart may differ: ([^<]*)/.exec(
      await page(displayed({ [MIME.vegaLite]: spec })),
    ) ?? [''];
    expect(note ?? '').toMatch(warning ?? /^$/);
  });

  it("lists a chart's named data", async () => {
    const spec = { mark: 'bar', data: { name: 'd' }, datasets: { d: [{ a: 'first' }] } };
    expect(await page(displayed({ [MIME.vegaLite]: spec }))).toContain('<th scope="row">first');
  });

  it.each([
    '<svg xmlns="http://www.w3.org/2000/svg"><foreignObject><meta http-equiv="refresh" content="0;url=https://x.org"/></foreignObject></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg"><meta http-equiv="refresh" content="0"></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg"><a href="https://x.org"><text>x</text></a></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg"><rect fill="url(https://x.org)"/></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg" onload="x"></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg" ONLOAD="x"></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg" STYLE="position:fixed"></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg"><rect fill="URL(https://x.org)"/></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg"><rect fill="&#117;rl(https://x.org)"/></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg"><rect fill="\\75rl(https://x.org)"/></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg"><g data-chart="chart-1"/></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg"><style>*{}</style></svg>',
    '</div><meta http-equiv="refresh" content="0">',
  ])('shows an external SVG as an image: %s', async (svg) => {
    const cell = await shown('a', syntheticChart(results));
    const [output] = cell.outputs as { data: Record<string, unknown> }[];
    output.data[MIME.svg] = svg;
    const { html } = await reportHtml(notebookOf(markdown('# T'), cell));
    expect(html).not.toContain(svg);
    expect(html).toContain(`<img alt="" src="data:image/svg+xml;base64,${btoa(svg)}">`);
  });

  it.each([
    null,
    [],
    'x',
    7,
    { data: 1 },
    { data: { values: 5 } },
    { layer: [null] },
    { params: 3 },
    {},
  ])('continues after a chart with an invalid specification: %j', async (spec) => {
    const cell = code('1') as CodeCell;
    for (const mime of [MIME.vegaLite, MIME.table])
      cell.outputs.push({ output_type: 'display_data', data: { [mime]: spec }, metadata: {} });
    const { html } = await reportHtml(notebookOf(markdown('# T'), cell, markdown('The end.')));
    expect(html).toContain('The end.');
    expect(html).toMatch(/is not shown|data-chart/);
    expect(html).not.toMatch(/<pre>[^<]*(Cannot read|is not a f|is not iterable)/);
  });
});
