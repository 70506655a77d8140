/**
 * The page of a run: what it says, that it is one file, and that it works for every
 * reader.
 */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runPageHtml, writeRunReport } from '../../../lib/pages/run/page.js';
import { readRun } from '../../../lib/pages/run/folder.js';
import { chromiumPath } from '../../browser/chromium.js';
import { complaintsAboutReport } from '../../browser/page-checks.js';
import { temporaryFolder } from '../../folder.js';
import { RUN, writeStep } from './run.js';

const folder = temporaryFolder();
let file: string;
let html: string;
beforeAll(async () => {
  for (let step = 0; step < 3; step++) writeStep(folder, step, step === 2 ? { kl: 0.9 } : {});
  file = await writeRunReport(folder, RUN);
  html = readFileSync(file, 'utf8');
});

describe('the report of a run', () => {
  it('is one file below 3 MB that loads nothing and asks nobody', () => {
    expect(file).toBe(path.join(folder, 'report.html'));
    expect(statSync(file).size).toBeLessThan(3e6);
    expect(html).not.toMatch(/(src|href)="(https?:|\/\/|(?!data:|#)[\w./]+\.(js|css|png))/);
    expect(html).toContain("default-src 'none'");
    expect(html).not.toContain('connect-src');
    expect(html).not.toContain('live-status');
  });

  it('draws every curve, with its data and a text alternative', () => {
    expect(
      [...html.matchAll(/<figure class="chart" id="curve-([\w-]+)"/g)].map(([, id]) => id),
    ).toEqual([
      'reward',
      'reward-components',
      'turns',
      'response-length',
      'decomposition',
      'kl',
      'entropy',
      'clip-fraction',
      'gradient-norm',
    ]);
    expect(html).toContain('at each of 3 steps: Reward from 0.500 to 0.700.');
    expect(html).toContain('one at a time from −0.250 to −0.250');
    expect(html).toContain('3 of 30 steps are done; a step takes 5.0 seconds.');
  });

  it('leaves out of a curve the steps that have no question of its kind', () => {
    const [, json] = /data-chart="curve-decomposition"[^>]*>([^<]+)</.exec(html)!;
    const { data } = JSON.parse(json) as { data: { values: { step: number; curve: string }[] } };
    expect(
      data.values.filter(({ curve }) => curve === 'sequential').map(({ step }) => step),
    ).toEqual([1]);
  });

  it('says which guard is alarmed, and since how many steps', () => {
    expect(html).toContain('<p class="alarm">Alarm: far from the reference');
    const [, row] = /<th scope="row">kl<\/th>(.*?)<\/tr>/.exec(html)!;
    expect([...row.matchAll(/<td[^>]*>([^<]*)</g)].map(([, cell]) => cell).slice(0, 4)).toEqual([
      'ALARM',
      '0.900',
      'above 0.5',
      '1',
    ]);
  });

  it('shows the newest rollouts by question, and what they say as text alone', () => {
    expect(html.match(/<details class="rollout">/g)).toHaveLength(4);
    expect(html).toContain('Rollout 1 · ✓ right · 1 turn · reward 1.45 · advantage 0.70');
    expect(html).toContain('information for 2 sub-queries');
    expect(html).toContain('<h3>Step 2: 0?');
    const [main] = /<main[^]*<\/main>/.exec(html)!;
    expect(main).toContain('&lt;img src=x');
    expect(main).not.toContain('<img');
    expect(main).not.toContain('<script>window');
  });

  it('says of a run without steps that there are none', async () => {
    const page = await runPageHtml(RUN, await readRun(path.join(folder, 'absent')));
    expect(page).toContain('The first of 30 steps is under way.');
    expect(page.match(/No step is done yet/g)).toHaveLength(3);
  });

  it.skipIf(!chromiumPath)(
    'works for every reader',
    async () => expect(await complaintsAboutReport(file)).toEqual([]),
    300_000,
  );
});
