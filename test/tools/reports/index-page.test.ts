import { readFileSync, writeFileSync } from 'node:fs';
import path, { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { EXPERIMENTS } from '../../../lib/experiments/list.js';
import { pageHtml } from '../../../lib/pages/page.js';
import { lineChart } from '../../../lib/report/charts/chart.js';
import { markup, markupHtml } from '../../../lib/report/markup.js';
import { judgeClaims } from '../../../tools/reports/claims.js';
import { claimsSection, writeIndex } from '../../../tools/reports/index-page.js';
import { closeChromium, openPage, testsPages } from '../../browser/chromium.js';
import { accessibilityComplaints, chartComplaints } from '../../browser/page-checks.js';
import { chart, emptyResult, lead, writeReport } from '../../experiments/made-up-results.js';
import { temporaryFolder } from '../../folder.js';

const PAPER_CLAIMS = EXPERIMENTS.flatMap(({ claims = [] }) => claims);

describe('writeIndex', () => {
  it('shows further pages, then one card per result in the order of experiments', async () => {
    const folder = temporaryFolder();
    for (const [name, title] of [
      ['top-k', 'k'],
      ['main-results', 'A & B'],
    ])
      writeReport(folder, title, {
        ...emptyResult(name),
        finding: `Found: <0.5> in ${name}.`,
        predictions: [
          { prediction: 'O', found: '1', holds: 'one training' },
          { prediction: 'P', found: '0', holds: false },
        ],
        ...(name === 'top-k' && { figures: {} }),
      });
    const shownFirst = { name: 'playground', title: 'Play', description: 'To try.' };
    const pages = [{ ...shownFirst, picture: markup('i') }];
    const html = readFileSync(await writeIndex(folder, pages), 'utf8');
    const [cards] = /<ul class="cards">.*<\/ul>(?=<p class="intro")/s.exec(html)!;
    const shown = cards.matchAll(
      /<h2><a href="([^"]+)">([^<]*)<\/a><\/h2>\s*<p[^>]*>([^<]*)<\/p>/g,
    );
    expect([...shown].map(([, ...parts]) => parts)).toEqual([
      ['playground.html', 'Play', 'To try.'],
      ['main-results.html', 'A &amp; B', 'Found: &lt;0.5&gt; in main-results.'],
      ['top-k.html', 'k', 'Found: &lt;0.5&gt; in top-k.'],
    ]);
    expect(cards).toContain('<div class="picture" aria-hidden="true"><i></i>');
    expect(cards.match(/<div class="picture" aria-hidden="true"><svg/g)).toHaveLength(1);
    const [predictions] = /<details>.*?<\/details>/s.exec(cards)!;
    expect(predictions).toMatch(/<summary>The prediction failed; 1 prediction .*<\/summary>/);
    expect(predictions).toMatch(/P: <strong>no<\/strong>.*O: <strong>one training<\/strong>/s);
  });

  it('links all pages from each other', async () => {
    const folder = temporaryFolder();
    writeReport(folder, 'A & B', emptyResult('main-results'));
    writeReport(folder, 'Never exported', emptyResult('top-k'));
    const page = pageHtml({
      title: 'A',
      description: '',
      body: markup('main', { id: 'content' }, 'A'),
    });
    writeFileSync(join(folder, 'main-results.html'), page);
    const index = await writeIndex(folder, [{ name: 'playground', title: 'P', description: '' }]);
    await writeIndex(folder); // replaces the bar
    const bars = [index, join(folder, 'main-results.html')].map((file) => {
      const found = readFileSync(file, 'utf8').match(/<nav class="site".*?<\/nav>/gs) ?? [];
      expect(found).toHaveLength(1);
      return [...found.join('').matchAll(/href="([^"]+)"( aria-current="page")?>([^<]*)/g)].map(
        ([, href, isCurrent, title]) => [href, title, isCurrent !== undefined],
      );
    });
    const barOn = (current: string) =>
      Object.entries({ 'index.html': 'Results', 'main-results.html': 'A &amp; B' }).map(
        ([href, title]) => [href, title, href === current],
      );
    expect(bars).toEqual(['index.html', 'main-results.html'].map(barOn));
  });

  it('shows the panel behind a finding', async () => {
    const folder = temporaryFolder();
    const rows = ['BM25', 'HNSW'].flatMap((retriever) =>
      [1, 3].map((k) => ({ retriever, k, method: 'search-r1', metric: 'em', value: k / 10 })),
    );
    // The title is longer than the axis, so it takes two lines there.
    const axes = { title: 'EM by k', x: 'k', color: 'method', column: 'retriever', height: 99 };
    const figures = { first: chart, panels: lineChart(rows, axes) };
    const write = async (card: Record<string, string>): Promise<string> => {
      writeReport(folder, 'k', { ...emptyResult('top-k'), figures, card });
      return readFileSync(await writeIndex(folder), 'utf8');
    };
    const html = await write({ panels: 'BM25' });
    expect(html.match(/<div class="picture" aria-hidden="true"><svg/g)).toHaveLength(1);
    expect(html).toContain('>BM25</text>');
    expect(html).not.toContain('>HNSW</text>');
    expect(html).toContain('>Exact match (share of questions)</text>');
    await expect(write({ panels: 'FAISS' })).rejects.toThrow(/FAISS.*BM25, HNSW/);
    await expect(write({ none: '' })).rejects.toThrow(/none.*first, panels/);
  });

  it('starts with the main findings and the number of verdicts', async () => {
    const folder = temporaryFolder();
    const finding = 'It saves calls. It loses 2.2 points.';
    writeReport(folder, 'Main', { ...emptyResult('main-results'), finding });
    const html = readFileSync(await writeIndex(folder), 'utf8');
    const [chief] = /<ul class="chief">.*?<\/ul>/s.exec(html)!;
    expect([...chief.matchAll(/<p>(.*?)<\/p>/g)].map(([, text]) => text)).toEqual([
      'It saves calls.',
      'It loses 2.2 points.',
    ]);
    expect(html).toMatch(/claims<\/a>, \d+ are .* and \d+ (is|are) .* here/);
  });

  it('escapes the text of claims', () => {
    const claims = [{ ...PAPER_CLAIMS[0], claim: '<b>' }];
    const html = markupHtml(claimsSection(judgeClaims([{ name: 'x', claims }], new Map())));
    expect(html).toContain('<span class="claim">&lt;b&gt;</span>');
  });

  it('lists every claim, also as JSON', async () => {
    const folder = temporaryFolder();
    writeReport(folder, 'Main', {
      ...emptyResult('main-results'),
      contrasts: [lead('base', 0.05)],
    });
    const html = readFileSync(await writeIndex(folder), 'utf8');
    expect(html.match(/<li id="claim-/g)).toHaveLength(PAPER_CLAIMS.length);
    expect(html).toContain('<a href="main-results.html#cell-gap-table">');
    const { claims } = JSON.parse(readFileSync(path.join(folder, 'index.json'), 'utf8')) as {
      claims: { id: string }[];
    };
    expect(claims.map(({ id }) => id)).toEqual(PAPER_CLAIMS.map(({ id }) => id));
  });
});

describe.skipIf(!testsPages)('the index in a browser (needs Chromium and test:full)', () => {
  afterAll(closeChromium);

  it('has no clipped text and no overlapping labels at any width', async () => {
    const folder = temporaryFolder();
    const rows = ['parallelizable', 'sequential', 'hybrid'].flatMap((subset) =>
      ['search-r1', 'search-r1-parallel-prompt', 'parallelsearch'].map((method, i) => ({
        subset,
        method,
        metric: 'em',
        value: 0.9 - i / 10,
      })),
    );
    const types = lineChart(rows, { title: 'By type', x: 'subset', color: 'method' });
    for (const name of ['main-results', 'lambda-ablation', 'top-k'])
      writeReport(folder, 'A title that is long enough for two lines of its card', {
        ...emptyResult(name),
        finding: 'A third fewer model calls than Search-R1; answers equally good. '.repeat(2),
        figures: { types },
      });
    const pages = [{ name: 'trajectories', title: 'T', description: 'To read.' }];
    const { page } = await openPage(await writeIndex(folder, pages));
    expect(await chartComplaints(page)).toEqual([]);
    const complaints = await accessibilityComplaints(page);
    expect(complaints.filter((line) => /pixels/.test(line))).toEqual([]);
  });
});
