import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { packagePath } from '../../../lib/io/paths.js';
import { readRun } from '../../../lib/training/run-folder.js';
import { runPageHtml, writeRunReport } from '../../../lib/pages/runs/run-page.js';
import { testsPages } from '../../browser/chromium.js';
import { complaintsAboutReport } from '../../browser/page-checks.js';
import { temporaryFolder } from '../../folder.js';
import { RUN, writeStep } from '../../training/synthetic-run.js';

const folder = temporaryFolder();
for (let step = 0; step < 3; step++) writeStep(folder, step, step === 2 ? { kl: 0.9 } : {});
const file = await writeRunReport(folder, RUN);
const html = readFileSync(file, 'utf8');

describe('the page of a run', () => {
  it('is a single file under 3 MB that requests nothing', () => {
    expect(file).toBe(path.join(folder, 'report.html'));
    expect(statSync(file).size).toBeLessThan(3e6);
    expect(html).not.toMatch(/(src|href)="(https?:|\/\/|(?!data:|#)[\w./]+\.(js|css|png))/);
    expect(html).toContain("default-src 'none'");
    expect(html).not.toContain('connect-src');
    expect(html).not.toContain('id="live-status"');
  });

  it('draws every curve with a text alternative', () => {
    const charts = html.matchAll(/<figure class="chart" id="curve-([\w-]+)"/g);
    expect(Array.from(charts, ([, id]) => id).join()).toBe(
      'reward,reward-components,turns,response-length,decomposition,kl,entropy,clip-fraction,gradient-norm',
    );
    expect(html).toContain('Reward 0.500 (step 0), 0.600 (step 1), 0.700 (step 2).');
    expect(html).toContain('one at a time −0.250 (step 0)');
    expect(html).toContain('3 of 30 steps finished, 5.0 s per step.');
  });

  it('skips steps without questions of the type of a curve', () => {
    const [, json] = /data-chart="curve-decomposition"[^>]*>([^<]+)</.exec(html)!;
    const { data } = JSON.parse(json) as { data: { values: { step: number; curve: string }[] } };
    const drawn = data.values.filter(({ curve }) => curve === 'sequential');
    expect(drawn.map(({ step }) => step)).toEqual([1]);
  });

  it('starts with data, model and the settings that differ from the preset', () => {
    const [, section] = /<h2 id="configuration">(.*?)<div id="run"/s.exec(html)!;
    expect(section).toMatch(/<th scope="row">grpo.steps<\/th><td[^>]*>30<\/td><td[^>]*>200</);
    expect(section).toContain('<dd>the small world</dd>');
    expect(section).toContain('<dd>instruct-1</dd>');
  });

  it('shades what to expect behind the curves if the settings match the preset', async () => {
    const usual = path.join(folder, 'usual');
    const state = async () => {
      const run = await readRun(usual);
      // The synthetic run has a reward of its own.
      for (const { metrics } of run.steps)
        delete (metrics as Record<string, number>)['rewards/one at a time'];
      return run;
    };
    for (let step = 0; step < 26; step++) writeStep(usual, step);
    const page = await runPageHtml(RUN, await state());
    expect(page).toContain('In 6 recorded runs of ParallelSearch from instruct models');
    const [, json] = /data-chart="curve-reward"[^>]*>([^<]+)</.exec(page)!;
    const { layer } = JSON.parse(json) as { layer: { data: { values: { step: number }[] } }[] };
    // Up to the end of the run, 30 steps.
    expect(layer[0].data.values.map(({ step }) => step)).toEqual([0, 5, 10, 15, 20, 25, 30]);
    // Steps 14 to 24, where the reward is 0.5 + step / 10.
    expect(page).toMatch(/Reward \(mean per rollout\)<\/th><td[^>]*>[^<]+; here 2.40<\/td>/);
    expect(html).not.toContain('recorded runs of ParallelSearch');
    expect(html).toContain('differs in rewards/one at a time');
  });

  it('knows the names that train.py of export torch writes, and its recorded runs have', async () => {
    const source = readFileSync(packagePath('data', 'templates', 'torch', 'train.py'), 'utf8');
    const [, means] = /def behaviour\(.*?return \{(.*?)\}/s.exec(source)!;
    const names = Array.from(means.matchAll(/^ *"([\w/]+)":/gm), ([, name]) => name);
    expect(names).toEqual(expect.arrayContaining(['share/parallelizable', 'share/sequential']));
    const recorded = packagePath('data', 'reader', 'parallelsearch-seed1');
    const { steps, ...state } = await readRun(recorded);
    // The recorded runs are older than these.
    const before = names.filter((name) => !/^share|^decomposition_ratio$/.test(name));
    for (const { metrics } of steps)
      expect(Object.keys(metrics)).toEqual(expect.arrayContaining(before));
    const known = steps.map(({ step, metrics }) => {
      return { step, metrics: Object.fromEntries(names.map((name) => [name, metrics[name]])) };
    });
    const page = await runPageHtml(RUN, { ...state, steps: known });
    for (const id of ['reward', 'reward-components', 'turns', 'decomposition'])
      expect(page).toContain(`<figure class="chart" id="curve-${id}"`);
  });

  it('folds the guards if none fired', async () => {
    const calm = path.join(folder, 'calm');
    writeStep(calm, 0);
    const folded = /<details class="data"><summary>Table: Guards at step/;
    const page = await runPageHtml(RUN, await readRun(calm));
    expect(page).toMatch(folded);
    expect(page).toContain('No alarms.');
    expect(html).not.toMatch(folded);
    writeStep(calm, 1, { kl: 0.9 });
    writeStep(calm, 2);
    const later = await runPageHtml(RUN, await readRun(calm));
    expect(later).not.toMatch(folded);
    expect(later).toContain('No alarm now; 1 before.');
  });

  it('includes rollouts of earlier steps', async () => {
    const [, packed] = /id="rollouts-carried">([^<]+)</.exec(html)!;
    const [carried] = JSON.parse(gunzipSync(Buffer.from(packed, 'base64')).toString()) as [
      { steps: number[]; html: Record<number, string> },
    ];
    expect(carried.steps).toEqual([0, 1, 2]);
    expect(carried.html[1]).toContain('<h3>Step 1: 0?');
  });

  it('lists guards with their alarms', () => {
    expect(html).toContain('<p class="alarm">Alarm: far from the reference');
    const [, row] = /<th scope="row">kl<\/th>(.*?)<\/tr>/.exec(html)!;
    const cells = Array.from(row.matchAll(/<td[^>]*>([^<]*)</g), ([, cell]) => cell);
    expect(cells.slice(0, 4)).toEqual(['ALARM', '0.900', 'above 0.5', '1']);
  });

  it('shows the newest rollouts by question, as text only', () => {
    expect(html.match(/<details class="rollout">/g)).toHaveLength(4);
    expect(html).toContain('Rollout 1 · ✓ right · 1 turn · reward 1.45 · advantage 0.70');
    expect(html).toContain('information for 2 sub-queries');
    expect(html).toContain('<h3>Step 2: 0?');
    const [main] = /<main[^]*<\/main>/.exec(html)!;
    expect(main).toContain('&lt;img src=x');
    expect(main).not.toContain('<img');
    expect(main).not.toContain('<script>window');
  });

  it('has no curves before the first step', async () => {
    const page = await runPageHtml(RUN, await readRun(path.join(folder, 'absent')));
    expect(page).toContain('0 of 30 steps finished.');
    expect(page.match(/No step finished yet/g)).toHaveLength(3);
  });

  it.skipIf(!testsPages)(
    'is accessible (needs Chromium and test:full)',
    async () => expect(await complaintsAboutReport(file)).toEqual([]),
    300_000,
  );
});
