/** Makes the pictures of the documentation: node scripts/screenshots.mjs [reports [pictures]] (folders; needs a build and Chromium). */
/* global document, scrollY */
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL, URL } from 'node:url';
import { chromium } from 'playwright-core';
import { findChromium } from '../dist/report/browser.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const [reports = join(root, 'reports'), pictures = join(root, 'docs')] = process.argv.slice(2);

/** Pixels. */
const WIDTH = 1200;
/** For a machine that is busy with other things; a free one needs a quarter of a minute. */
const PATIENCE_MS = 200_000;
const DELAY_MS = 1000;
/** A dev question that both methods answer without a mistake on the way. */
const QUESTION = 'Magnus Keller, Jana Wilder or Yara Thorne: which singer had the first debut?';

/** Waits until the charts are drawn. Gives the height of the picture. */
async function charts(page) {
  await page.waitForFunction(() =>
    [...document.querySelectorAll('figure.chart')].every((chart) => chart.querySelector('.vega-embed')),
  );
  return 2400;
}

/** Asks both methods, and waits for both answers: the time line is complete, and every sub-query has its passage. */
async function answers(page) {
  await page.waitForSelector('#playground[data-ready]');
  await page.fill('[name=question]', QUESTION);
  await page.fill('[name=delay]', String(DELAY_MS));
  await page.click('button.ask');
  const table = await page.waitForSelector('.results table');
  return Math.ceil(await table.evaluate((at) => at.getBoundingClientRect().bottom + scrollY)) + 16;
}

/** Names of report and picture, and what makes the page ready for it. */
const PICTURES = [
  ['main-results', charts],
  ['playground', answers],
];

const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
try {
  for (const [name, prepare] of PICTURES) {
    const page = await browser.newPage({ viewport: { width: WIDTH, height: 900 } });
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(pathToFileURL(resolve(reports, `${name}.html`)).href);
    await page.setViewportSize({ width: WIDTH, height: await prepare(page) });
    const path = join(pictures, `${name}.png`);
    await page.screenshot({ path });
    console.log(path);
  }
} finally {
  await browser.close();
}
