/** A real Chromium for tests, driven by Playwright. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';
import { findChromium } from '../../lib/report/charts/render.js';
import { isFull } from '../full.js';

export type { Page } from 'playwright-core';

/** Path of Chromium, or undefined; the environment's `CHROMIUM` overrides it. */
export const chromiumPath = findChromium();

/**
 * Whether to test how pages look and react: in the full run. `npm test` only tests that
 * pages run, and run nothing foreign.
 */
export const testsPages = isFull && chromiumPath !== undefined;

if (!chromiumPath) {
  console.warn(
    'No Chromium was found, so that tests in a browser are skipped. Install it (Debian: apt-get install chromium).',
  );
}

let browser: Promise<Browser> | undefined;

/** Closes all pages; call it after opening some. */
export async function closeChromium(): Promise<void> {
  await (await browser)?.close();
  browser = undefined;
}

/** A page and what it did. */
export interface OpenPage {
  page: Page;
  /** Console errors and warnings, and exceptions. */
  complaints: string[];
  /** Requested addresses, except the page and data URLs. */
  requests: string[];
}

/**
 * Opens an address in a new window with an empty profile, once it has loaded. Without its
 * own scripts, tests can still run theirs.
 */
export async function openPage(
  place: string | URL,
  { withScripts = true } = {},
): Promise<OpenPage> {
  const args = ['--no-sandbox', '--disable-gpu'];
  browser ??= chromium.launch({ executablePath: chromiumPath, args });
  const size = { width: 1400, height: 900 };
  const page = await (await browser).newPage({ viewport: size, colorScheme: null });
  const { href } = place instanceof URL ? place : pathToFileURL(path.resolve(place));
  const [complaints, requests]: [string[], string[]] = [[], []];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (['error', 'warning', 'assert'].includes(message.type()))
      complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (request.url() !== href) requests.push(request.url());
  });
  // The browser reports some requests before it blocks them.
  page.on('requestfailed', (request) => {
    const place = requests.indexOf(request.url());
    if (request.failure()?.errorText === 'csp' && place >= 0) requests.splice(place, 1);
  });
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setScriptExecutionDisabled', { value: !withScripts });
  await page.goto(href);
  await session.send('Emulation.setScriptExecutionDisabled', { value: false });
  return { page, complaints, requests };
}
