/** Makes the pictures of the documentation from the reports: node scripts/screenshots.mjs (needs Chromium). */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL, URL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Picture, report, and the window's size in pixels. */
const PICTURES = [
  ['docs/main-results.png', 'reports/main-results.html', '1200,2400'],
  ['docs/playground.png', 'reports/playground.html', '1200,900'],
];

const chromium =
  process.env.CHROMIUM ??
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!chromium) {
  console.error('Expected Chromium, but found none. Install it, or name it: CHROMIUM=/path/to/chromium.');
  process.exit(1);
}

for (const [picture, report, size] of PICTURES) {
  const profile = mkdtempSync(join(tmpdir(), 'screenshots-'));
  const { status, stderr } = spawnSync(
    chromium,
    [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
      `--user-data-dir=${profile}`,
      `--window-size=${size}`,
      '--virtual-time-budget=5000',
      `--screenshot=${join(root, picture)}`,
      pathToFileURL(join(root, report)).href,
    ],
    { encoding: 'utf8' },
  );
  rmSync(profile, { recursive: true, force: true });
  if (status !== 0) {
    console.error(stderr);
    process.exit(1);
  }
  console.log(picture);
}
