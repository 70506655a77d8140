/**
 * Pictures that only a browser can make: PDF and PNG of a chart, by a headless Chromium
 * where there is one.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { findProgram } from '../io/paths.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
/** Where it is when it is not on the PATH. */
const PLACES = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/** Pixels of a PNG for each unit of the drawing: sharp in print. */
const PNG_SCALE = 3;
const TIMEOUT_MS = 60_000;

/**
 * Where a Chromium is, or undefined; `CHROMIUM` in the environment names another place.
 */
export function findChromium(): string | undefined {
  const files = [process.env.CHROMIUM, ...NAMES.map(findProgram), ...PLACES];
  return files.find((file) => file && existsSync(file));
}

/**
 * Writes an SVG as PDF (one page of its size) or PNG (transparent background), by the
 * ending of `file`.
 * @throws Error where there is no Chromium, naming the remedy
 */
export async function writePicture(svg: string, file: string): Promise<void> {
  const chromium = findChromium();
  if (!chromium) {
    throw new Error(
      `Expected Chromium for ${path.basename(file)}, but found none. Install it, name it in CHROMIUM, or use SVG.`,
    );
  }
  const [, width, height] = (/<svg[^>]*? width="([\d.]+)" height="([\d.]+)"/.exec(svg) ?? []).map(
    (size) => Math.ceil(Number(size)),
  );
  if (!width)
    throw new Error(`Expected an SVG with width and height, but got ${svg.slice(0, 80)}.`);
  const style = `@page { size: ${width}px ${height}px; margin: 0; } body { margin: 0; } svg { display: block; }`;
  const folder = mkdtempSync(path.join(tmpdir(), 'picture-'));
  try {
    const page = path.join(folder, 'page.html');
    writeFileSync(page, `<!doctype html><meta charset="utf-8"><style>${style}</style>${svg}`);
    const task = file.endsWith('.pdf')
      ? ['--no-pdf-header-footer', `--print-to-pdf=${file}`]
      : [
          `--screenshot=${file}`,
          `--window-size=${width},${height}`,
          `--force-device-scale-factor=${PNG_SCALE}`,
          '--default-background-color=00000000',
        ];
    const flags = [
      '--headless',
      '--disable-gpu',
      '--hide-scrollbars',
      `--user-data-dir=${folder}/profile`,
    ];
    if (process.getuid?.() === 0) flags.push('--no-sandbox'); // Chromium's sandbox refuses to work for root
    await promisify(execFile)(chromium, [...flags, ...task, pathToFileURL(page).href], {
      timeout: TIMEOUT_MS,
    });
    if (!existsSync(file)) throw new Error(`Expected Chromium to write ${file}, but it did not.`);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
