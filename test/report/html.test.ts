import { describe, expect, it } from 'vitest';
import type { CodeCell } from '../../lib/notebook/nbformat.js';
import { reportHtml, createMarkdown } from '../../lib/report/html.js';
import { inlineJson, inlineScript } from '../../lib/html/page.js';
import { code, markdown, notebookOf } from '../notebook/notebooks.js';
import { shown, syntheticChart, syntheticReport, syntheticTable } from './fixtures.js';

const results = syntheticReport();

describe('markdown', () => {
  it('links headings by unique, readable ids', () => {
    const { render, headings } = createMarkdown();
    expect(render('## What & why?\n\n## What *&* why?')).toContain(
      '<h2 id="what-why-2">What <em>&amp;</em> why?</h2>',
    );
    expect(headings.map(({ id, text }) => [id, text])).toEqual([
      ['what-why', 'What & why?'],
      ['what-why-2', 'What & why?'],
    ]);
  });

  it('shows raw HTML and unsafe links as text', () => {
    const { render } = createMarkdown();
    const html = render(
      '<img src=x onerror=alert(1)>\n\na <b>b</b> [c](javascript:alert(1)) [d](https://x.org) [e](a.html)',
    );
    expect(html).not.toMatch(/<img|<b>|href="javascript:/);
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(html).toContain('<a href="https://x.org">d</a> <a href="a.html">e</a>');
  });
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

  it('starts with finding and chart, and ends with the data and the code that loads it', async () => {
    const finding = 'It is <better>: 0.5 [0.4, 0.6].';
    const found = { ...results, finding, summary: 'Read.' };
    const cells = [
      markdown('# T\n\nAbout.'),
      await shown('load', found),
      await shown('a', syntheticChart(results)),
    ];
    const { html } = await reportHtml(notebookOf(...cells, markdown('## Part')));
    const places = [
      '</h1>\n<header class="opening"><p class="headline">It is &lt;better&gt;: 0.5 [0.4, 0.6].</p>',
    ];
    places.push(
      '<p>About.</p>',
      '<figure class="chart"',
      '<h2 id="part">',
      '<p>Read.</p>',
      'show(&quot;load&quot;',
    );
    const order = places.map((text) => html.indexOf(text));
    expect(order.every((place, i) => place > (order[i - 1] ?? 0))).toBe(true);
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
    const isFolded = [
      ...html.matchAll(
        /(<summary>Table: [^<]*<\/summary>)?<div class="scroll" role="group" aria-label="A &lt;t/g,
      ),
    ];
    expect(isFolded.map(([, summary]) => summary !== undefined)).toEqual([
      false,
      true,
      false,
      true,
    ]);
  });

  it('contains charts as pictures, with what makes them interactive', async () => {
    const chart = syntheticChart(results);
    const { html } = await reportHtml(notebookOf(await shown('figure', chart, chart)));
    const marked = html.replace(/<script>[\s\S]*?<\/script>/g, '');
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
    cell.outputs.push({
      output_type: 'stream',
      name: 'stderr',
      text: ['\u001b[31m<red>\u001b[0m\n'],
    });
    cell.outputs.push({ output_type: 'error', ename: 'E', evalue: 'v', traceback: ['<trace>'] });
    const { html } = await reportHtml(notebookOf(cell));
    expect(html).toContain('<pre class="stderr">&lt;red&gt;\n</pre>');
    expect(html).toContain('<pre class="stderr">&lt;trace&gt;</pre>');
  });
});

describe('text inside scripts', () => {
  it('cannot end its element', () => {
    expect(inlineScript('a="</script><!--"')).toBe('a="<\\/script><\\!--"');
    const json = inlineJson({ a: '</script>\u2028' });
    expect(json).not.toMatch(/<|\u2028/);
    expect(JSON.parse(json)).toEqual({ a: '</script>\u2028' });
  });
});
