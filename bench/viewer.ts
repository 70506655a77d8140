/**
 * Measures the trajectory viewer in headless Chromium: time to first paint and to the
 * list, frame times while scrolling, and times of a filter and a search. Takes a page
 * written by `parallelsearch view`; prints one JSON object with milliseconds on this
 * machine.
 */
import { closeChromium, openPage } from '../test/browser/chromium.js';

const [file = 'trajectories.html'] = process.argv.slice(2);

const READY = `new Promise((resolve) => (function look() {
  if ('ready' in document.getElementById('viewer').dataset) resolve(performance.now());
  else setTimeout(look, 5);
})())`;

/** Scrolls a tenth of the list per second and records frame times. */
const SCROLL = `new Promise((resolve) => {
  const list = document.querySelector('.list');
  const frames = [];
  const start = performance.now();
  let last = start;
  requestAnimationFrame(function step(now) {
    frames.push(now - last);
    last = now;
    list.scrollTop = ((now - start) / 10_000) * list.scrollHeight;
    if (now - start < 5_000) requestAnimationFrame(step);
    else resolve(frames.slice(1));
  });
})`;

/** Time from a change of a control to the next frame. */
const change = (name: string, value: string): string => `new Promise((resolve) => {
  const control = document.querySelector('[name="${name}"]');
  const count = document.querySelector('.count');
  const start = performance.now();
  new MutationObserver(() => requestAnimationFrame(() => resolve(performance.now() - start)))
    .observe(count, { childList: true, characterData: true, subtree: true });
  control.value = ${JSON.stringify(value)};
  control.dispatchEvent(new Event(control.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true }));
})`;

const quantile = (values: readonly number[], q: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))];

const { page, complaints, requests } = await openPage(file);
const readyMs = await page.evaluate<number>(READY);
const firstPaintMs = await page.evaluate<number>(
  `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null`,
);
const count = await page.evaluate<string>(`document.querySelector('.count').textContent`);
const frames = await page.evaluate<number[]>(SCROLL);
const filterMs = await page.evaluate<number>(change('right', 'right'));
const firstSearchMs = await page.evaluate<number>(change('search', 'the'));
const searchMs = await page.evaluate<number>(change('search', 'country of'));
await closeChromium();
console.log(
  JSON.stringify({
    count,
    firstPaintMs,
    readyMs,
    frames: {
      count: frames.length,
      median: quantile(frames, 0.5),
      p95: quantile(frames, 0.95),
      p99: quantile(frames, 0.99),
      largest: Math.max(...frames),
      over50: frames.filter((ms) => ms > 50).length,
    },
    filterMs,
    firstSearchMs,
    searchMs,
    complaints,
    requests,
  }),
);
