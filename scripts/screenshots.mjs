/** Makes the pictures of the documentation: node scripts/screenshots.mjs [reports [pictures]] (folders; needs Chromium). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL, URL } from 'node:url';
import { build } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const [reports = join(root, 'reports'), pictures = join(root, 'docs')] = process.argv.slice(2);

/** Pixels. */
const WIDTH = 1200;
/** For a machine that is busy with other things; a free one needs a quarter of a minute. */
const PATIENCE_MS = 200_000;
const DELAY_MS = 1000;
/** A test question that both methods answer without a mistake on the way. */
const QUESTION = 'Among Boogie Nights, Eagle Eye and The Exorcist, which film was released earliest?';

/** Waits until the charts are drawn. Gives the height of the picture. */
const CHARTS = `
  await until(() => [...document.querySelectorAll('figure.chart')].every((chart) => chart.querySelector('.vega-embed')));
  return 2400;`;

/** Asks both methods, and waits for both answers: the time line is complete, and every sub-query has its passage. */
const ANSWERS = `
  await until(() => document.getElementById('playground').dataset.ready);
  document.querySelector('[name=question]').value = ${JSON.stringify(QUESTION)};
  const delay = document.querySelector('[name=delay]');
  delay.value = ${DELAY_MS};
  delay.dispatchEvent(new Event('input'));
  document.querySelector('button.ask').click();
  const table = await until(() => document.querySelector('.results table'));
  return Math.ceil(table.getBoundingClientRect().bottom + scrollY) + 16;`;

/** Names of report and picture, and what makes the page ready for it. */
const PICTURES = [
  ['main-results', CHARTS],
  ['playground', ANSWERS],
];

/** The expression that does that in the page. */
const prepared = (steps) => `(async () => {
  const start = performance.now();
  const until = async (look) => {
    for (;;) {
      const found = look();
      if (found) return found;
      if (performance.now() - start > ${PATIENCE_MS}) throw new Error(document.body.innerText);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  ${steps}
})()`;

/** The browser of the tests, bundled: Node does not read TypeScript. */
async function loadBrowser(folder) {
  const file = join(folder, 'chromium.mjs');
  await build({
    input: join(root, 'test/browser/chromium.ts'),
    platform: 'node',
    logLevel: 'warn',
    resolve: { extensionAlias: { '.js': ['.ts'] } },
    output: { file },
  });
  return import(pathToFileURL(file).href);
}

/** Takes a picture of a report at the height that its preparation gives. */
async function takePicture(browser, [name, steps]) {
  const page = await browser.newPage();
  const setHeight = (height) =>
    page.send('Emulation.setDeviceMetricsOverride', {
      ...{ width: WIDTH, height, deviceScaleFactor: 1, mobile: false },
    });
  await page.send('Emulation.setScrollbarsHidden', { hidden: true });
  await setHeight(900);
  await page.open(resolve(reports, `${name}.html`));
  await setHeight(await page.evaluate(prepared(steps)));
  const picture = join(pictures, `${name}.png`);
  writeFileSync(picture, await page.screenshot());
  console.log(picture);
}

const folder = mkdtempSync(join(tmpdir(), 'screenshots-'));
let browser;
try {
  const { startChromium } = await loadBrowser(folder);
  browser = await startChromium();
  for (const picture of PICTURES) await takePicture(browser, picture);
} finally {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
}
