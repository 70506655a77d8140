/**
 * Makes the picture in the docs: node scripts/screenshots.mjs [reports [pictures]]
 * (folders; needs a build and Chromium).
 */
/* global scrollY */
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL, URL } from 'node:url';
import { chromium } from 'playwright-core';
import { findChromium } from '../dist/report/charts/render.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const [reports = join(root, 'reports'), pictures = join(root, 'docs')] = process.argv.slice(2);

/** In pixels. */
const WIDTH = 1200;
/** Allows for a busy machine; an idle one needs 15 seconds. */
const PATIENCE_MS = 200_000;
const DELAY_MS = 1000;

/**
 * Asks both methods the page's own first question, and waits until the time line is
 * complete and every sub-query has its passages.
 */
async function answers(page) {
  await page.waitForSelector('#playground[data-ready]');
  await page.fill('[name=delay]', String(DELAY_MS));
  await page.click('button.ask');
  const table = await page.waitForSelector('.comparison table');
  return Math.ceil(await table.evaluate((at) => at.getBoundingClientRect().bottom + scrollY)) + 16;
}

const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
try {
  const page = await browser.newPage({ viewport: { width: WIDTH, height: 900 } });
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(pathToFileURL(resolve(reports, 'playground.html')).href);
  await page.setViewportSize({ width: WIDTH, height: await answers(page) });
  const path = join(pictures, 'playground.png');
  await page.screenshot({ path });
  console.log(path);
} finally {
  await browser.close();
}
