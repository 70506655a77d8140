/**
 * Measures the time to first paint of pages in headless Chromium, opened from disk,
 * compared with a page of one word. Takes files; prints one JSON object: minimum, median
 * and maximum in milliseconds on this machine.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { closeChromium, openPage } from '../test/browser/chromium.js';

const REPEATS = 7;

const FIRST_PAINT = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const entry = list.getEntriesByName('first-contentful-paint')[0];
    if (entry) resolve(entry.startTime);
  }).observe({ type: 'paint', buffered: true });
})`;

/** Minimum, median and maximum. */
function spread(values: readonly number[]): number[] {
  const sorted = [...values].sort((a, b) => a - b);
  return [0, Math.floor(sorted.length / 2), sorted.length - 1].map(
    (i) => Math.round(10 * sorted[i]) / 10,
  );
}

const files = process.argv.slice(2);
if (files.length === 0)
  throw new Error('Expected pages to open. Try: npm run bench -- first-paint reports/*.html');
const folder = mkdtempSync(path.join(tmpdir(), 'first-paint-'));
const oneWord = path.join(folder, 'one-word.html');
writeFileSync(oneWord, '<!doctype html><title>A word</title><p>Word');

const pages = [oneWord, ...files.map((file) => path.resolve(file))];
const times = new Map<string, number[]>(pages.map((file) => [file, []]));
try {
  for (let i = 0; i < REPEATS; i++) {
    for (const file of pages) {
      const { page } = await openPage(file);
      times.get(file)!.push(await page.evaluate<number>(FIRST_PAINT));
    }
    await closeChromium();
  }
} finally {
  rmSync(folder, { recursive: true });
}

const [, ...rows] = pages.map((file) => {
  const ofFile = times.get(file)!;
  const ratios = ofFile.map((time, i) => time / times.get(oneWord)![i]);
  return { page: path.basename(file), ms: spread(ofFile), ratioToOneWord: spread(ratios) };
});
console.log(
  JSON.stringify({ repeats: REPEATS, oneWordMs: spread(times.get(oneWord)!), rows }, null, 2),
);
