import { describe, expect, it } from 'vitest';
import type { CodeCell } from '../../../lib/notebook/nbformat.js';
import { observableHtml } from '../../../lib/pages/notebook/observable.js';
import { lineChart } from '../../../lib/report/charts/chart.js';
import { mimeBundle } from '../../../lib/report/display.js';
import { plainTable } from '../../../lib/report/table.js';
import { code, markdown, notebookOf } from '../../notebook/notebooks.js';

const rows = [0, 1].map((step) => ({ metric: 'reward', curve: 'a', step, value: step }));
const chart = await mimeBundle(lineChart(rows, { title: 'Reward', x: 'step', color: 'curve' }));
const table = await mimeBundle(plainTable([{ name: 'a${1}\\b' }]));
const showing = (source: string, data: object) => ({
  ...(code(source) as CodeCell),
  outputs: [{ output_type: 'display_data' as const, data: { ...data }, metadata: {} }],
});
const notebook = notebookOf(
  { ...markdown(''), source: ['# Films & more\n', '\n', 'It is ${x}.'] },
  showing('const s = `</script><b>`;', chart),
  showing('', table),
  showing('table', table),
);
const cells = [
  ...observableHtml(notebook).matchAll(
    /<script id="(\d+)" type="([^"]+)">\n(.*?)\n {2}<\/script>/gs,
  ),
].map(([, id, type, source]) => ({ id, type, source: source.replace(/^ {4}/gm, '') }));

describe('observableHtml', () => {
  it('has the format of Notebook Kit and the title of the notebook', () => {
    expect(observableHtml(notebook)).toMatch(
      /^<!doctype html>\n<notebook theme="air">\n {2}<title>Films &amp; more<\/title>\n {2}<script id="1"/,
    );
    expect(cells.map(({ id }) => id).join('')).toBe('12345678');
    const types = cells.map(({ type }) => type.replace('text/', ''));
    expect(types.join()).toBe('markdown,module,module,html,html,html,html,module');
  });

  it('has the title without markup, not a comment of the code', () => {
    const titled = notebookOf(code('# set-up'), markdown('# *Loss* $a_b$'));
    expect(observableHtml(titled)).toContain('<title>Loss $a_b$</title>');
  });

  it('has chart cells that draw named data', () => {
    const data = JSON.parse(/^const data1 = (.*);$/.exec(cells[1].source)![1]) as unknown[];
    expect(data).toMatchObject([{ value: 0 }, { value: 1 }]);
    expect(cells[2].source).toMatch(/await embed\(chart1, \{[^]*data: \{ values: data1 \}/);
    expect(cells[2].source).not.toContain('"values"');
    expect(cells[7].source).toBe('import embed from "npm:vega-embed@7";');
  });

  it('shows pictures, terminal text and code of other kernels', () => {
    const foreign = notebookOf(showing('1', { 'image/png': 'AAAA\n', 'text/plain': '<Figure>' }), {
      ...(code('print(1)') as CodeCell),
      outputs: [{ output_type: 'stream', name: 'stdout', text: '\u001B[31mred\u001B[0m\n' }],
    });
    foreign.metadata.kernelspec = { display_name: 'Python', language: 'python', name: 'python3' };
    const page = observableHtml(foreign);
    expect(page).toContain('<img alt="&lt;Figure&gt;" src="data:image/png;base64,AAAA">');
    expect(page).toContain('<pre>red\n');
    expect(page).toContain('<code class="language-python">print(1)');
  });

  it.each([
    [{ 'application/vnd.vegalite.v4+json': { mark: 'bar' } }, 'await embed(chart1'],
    [{ 'text/latex': '$x^2$', 'text/plain': 'x**2' }, '<pre>$x^2$</pre>'],
    [{ 'text/markdown': '**bold**', 'text/plain': 'Markdown' }, '<strong>bold</strong>'],
    [{ 'image/gif': 'R0lG', 'text/plain': 'GIF' }, 'src="data:image/gif;base64,R0lG"'],
    [{ 'application/x-own': 'own' }, 'An output of application/x-own is not shown'],
  ])('shows other output: %j', (data, shown) => {
    expect(observableHtml(notebookOf(showing('1', data)))).toContain(shown);
  });

  it('shows attached pictures', () => {
    const attachments = { 'a b.png': { 'image/png': 'AAAA' } };
    const cell = { ...markdown('![plot](attachment:a%20b.png) ${x}'), attachments };
    const page = observableHtml(notebookOf(cell));
    expect(page).toContain('<img alt="plot" src="data:image/png;base64,AAAA"> \\${x}');
  });

  it('escapes interpolation and closing tags', () => {
    expect(cells[0].source).toContain('It is \\${x}.');
    expect(cells[3].source).toContain('&lt;/script&gt;&lt;b&gt;');
    expect(cells[4].source).toContain('a&#36;{1}&#92;b');
  });
});
