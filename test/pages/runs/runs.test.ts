import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findRuns, runsPageHtml } from '../../../lib/pages/runs/runs-page.js';
import { startRunsServer } from '../../../lib/pages/runs/runs-server.js';
import { closeChromium, openPage, testsPages } from '../../browser/chromium.js';
import { accessibilityComplaints, complaintsAboutReport } from '../../browser/page-checks.js';
import { temporaryFolder } from '../../folder.js';
import { RUN, writeStep } from '../../training/synthetic-run.js';

const root = temporaryFolder();
const NAMES = ['low', 'grid/a', 'grid/b'];
for (const [i, name] of NAMES.entries()) {
  const folder = path.join(root, ...name.split('/'));
  for (let step = 0; step < 6; step++) writeStep(folder, step, { reward: [10, 9, 0.5][i] });
  const run = { ...RUN, config: { ...RUN.config, seed: i + 1 }, data: '../my-data' };
  writeFileSync(path.join(folder, 'run.json'), JSON.stringify(run));
  utimesSync(path.join(folder, 'metrics.jsonl'), i, i);
}

describe('findRuns', () => {
  it('finds runs in subfolders, newest first; without one it suggests a command', () => {
    expect([...findRuns(root).keys()]).toEqual(NAMES.toReversed());
    const empty = path.join(root, 'empty');
    mkdirSync(empty);
    expect(() => findRuns(empty)).toThrow(/metrics\.jsonl.*parallelsearch train --out/);
  });
});

describe('the overview of runs', () => {
  it('has one row per run with its final figures and the settings that differ', async () => {
    const html = await runsPageHtml(root);
    const [, table] = /<table class="sortable"(.*?)<\/table>/s.exec(html)!;
    const rows = Array.from(table.matchAll(/<tr><th scope="row">(.*?)<\/tr>/g), ([, row]) => {
      const cells = Array.from(row.matchAll(/<td[^>]*>([^<]*)</g), ([, cell]) => cell);
      return `reward ${cells[0]}, ${cells.at(-2)} steps, seed ${cells.at(-1)}`;
    });
    expect(rows).toEqual([
      'reward 0.500, 6 steps, seed 3',
      'reward 9.000, 6 steps, seed 2',
      'reward 10.000, 6 steps, seed 1',
    ]);
    expect(table).toContain('all runs: method parallelsearch, model instruct-1, data my-data');
    expect(table).toContain('title="9.000 [9.000, 9.000]"');
    expect(html).not.toContain('connect-src');
  });

  it('shows the other runs if some are damaged, and names those', async () => {
    const some = path.join(root, 'some');
    const damaged = ['metrics', 'run', 'null', 'config', 'trajectories', 'good'];
    for (const name of damaged) writeStep(path.join(some, name), 0);
    const damage = (...parts: string[]) =>
      writeFileSync(path.join(some, ...parts.slice(0, -1)), parts.at(-1)!);
    damage('metrics', 'metrics.jsonl', '{"step": 0}\n{"step": 0}\n');
    damage('run', 'run.json', '{"config": ');
    damage('null', 'run.json', 'null');
    damage('config', 'run.json', '{"config": 3}');
    damage('trajectories', 'trajectories.jsonl', '{"step": 0}\n');
    const html = await runsPageHtml(some);
    const complaints = Array.from(html.matchAll(/Could not be read: (\w+): /g), ([, name]) => name);
    expect(complaints.sort()).toEqual(['metrics', 'run', 'trajectories']);
    expect(/\d+ runs, [^<]*/.exec(html)![0]).toBe('4 runs, 4 steps.');
  });

  it('highlights the newest of many runs', async () => {
    const many = path.join(root, 'many');
    for (let i = 0; i < 9; i++) writeStep(path.join(many, `run${i}`), 0);
    const html = await runsPageHtml(many);
    expect(html.match(/<input type="checkbox"[^>]* checked/g)).toHaveLength(3);
    const [, picture] = /id="curve-reward"(.*?)<\/svg>/s.exec(html)!;
    expect(picture.match(/role="graphics-symbol"[^>]*"line mark"[^>]*#929292/g)).toHaveLength(6);
  });
});

describe('the server of the overview', () => {
  let server: Awaited<ReturnType<typeof startRunsServer>>;
  beforeAll(async () => (server = await startRunsServer(path.join(root, 'grid'))));
  afterAll(() => server.close());
  const get = async (target: string) => {
    const response = await fetch(new URL(target, server.url));
    return { status: response.status, body: await response.text() };
  };

  it('serves the page of each run, rollouts of a step, and a comparison', async () => {
    expect((await get('run?run=a')).body).toContain('data-source="content?run=a&amp;"');
    expect((await get('rollouts?run=a&step=4')).body).toContain('<h3>Step 4: 0?');
    for (const page of ['run?run=a', 'compare?run=a&run=b'])
      expect((await get(page)).body, page).toContain('<a href="./">All runs</a>');
    expect((await get('compare?run=a&run=b')).body).toMatch(/<title>Compared: [ab] and [ab]</);
    const { body } = await get('content');
    const [, version] = /data-version="(\w+)"/.exec(body)!;
    expect((await get(`content?version=${version}`)).status).toBe(204);
    const asked = ['run?run=c', 'run?run=..%2Flow', 'rollouts?run=c&step=1', 'content?run=c'];
    for (const target of [...asked, 'compare?run=c'])
      expect(Object.values(await get(target)), target).toEqual([
        404,
        expect.stringContaining('Expected a run'),
      ]);
  });

  it.skipIf(!testsPages)(
    'sorts, filters, smooths and steps, keeps its state, and shows new runs (needs Chromium and test:full)',
    async () => {
      const { page, complaints } = await openPage(new URL(server.url));
      const names = () => page.locator('#runs-table tbody th').allTextContents();
      await page.locator('.vega-embed svg').first().waitFor();
      await page.getByRole('button', { name: 'Reward', exact: true }).click();
      expect(await names()).toEqual([' a', ' b']);
      await page.getByRole('button', { name: 'Reward', exact: true }).click();
      expect(await names()).toEqual([' b', ' a']);
      expect(await page.locator('#settings-table tbody th').allTextContents()).toEqual(['seed']);
      await page.getByRole('checkbox', { name: 'Show b' }).uncheck();
      await expect.poll(() => page.url()).toMatch(/run=a$/);
      const legend = page.locator('#curve-reward .role-legend-label text');
      await expect.poll(() => legend.allTextContents()).toEqual(['a']);
      await page.getByRole('checkbox', { name: 'Show b' }).check();
      await expect.poll(() => legend.count()).toBe(2);
      await page.getByRole('checkbox', { name: 'Show b' }).uncheck();
      await page.locator('#axis').selectOption('minutes');
      await page.locator('#smoothing').fill('0.5');
      const title = page.locator('#curve-reward .role-axis-title text', { hasText: 'minutes' });
      await title.waitFor();
      await page.locator('#rollouts-run').selectOption('a');
      await page.locator('#rollouts-step').fill('2');
      const question = page.locator('#rollouts-shown h3').first();
      await expect.poll(() => question.textContent()).toContain('Step 2: 0');
      writeStep(path.join(root, 'grid', 'c'), 0, { reward: 1 });
      await page.getByRole('link', { name: 'c', exact: true }).waitFor();
      expect((await names())[0]).toBe(' b');
      expect(await page.getByRole('checkbox', { name: 'Show b' }).isChecked()).toBe(false);
      await title.waitFor();
      await expect.poll(() => question.textContent()).toContain('Step 2: 0');
      await page.reload();
      await page.locator('.vega-embed svg').first().waitFor();
      expect((await names())[0]).toBe(' b');
      expect(await page.getByRole('checkbox', { name: 'Show b' }).isChecked()).toBe(false);
      expect(complaints).toEqual([]);
      expect(await accessibilityComplaints(page)).toEqual([]);
      await closeChromium();
    },
    300_000,
  );

  it.skipIf(!testsPages)(
    'writes a page that works offline (needs Chromium and test:full)',
    async () => {
      const file = path.join(root, 'runs.html');
      writeFileSync(file, await runsPageHtml(root));
      expect(await complaintsAboutReport(file)).toEqual([]);
    },
    300_000,
  );
});
