/** Renders charts as static pictures: SVG without a browser, PDF and PNG by Chromium. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { sum } from 'd3-array';
import type { View } from 'vega';
import type { TopLevelSpec } from 'vega-lite';
import { findProgram } from '../../io/paths.js';
import { limitTime } from '../../io/time-limit.js';
import { drawingFault, readableSpec } from './readable.js';
import type { Chart } from './spec.js';

/** Width of characters in em, by class. */
const LETTER_WIDTHS: readonly [letters: RegExp, width: number][] = [
  [/[\s'ijlI,./:;|\\f-]/, 0.34],
  [/[rt()[\]!"]/, 0.42],
  [/[A-Z+<=>#&~]/, 0.75],
  [/[mwMW%@]/, 1],
];
const LETTER_WIDTH = 0.63;
const BOLD = 1.14;

/** Vega's description of a text to place. */
interface TextItem {
  fontSize?: number;
  fontWeight?: string | number;
  /** Maximum width in pixels; 0 for none. */
  limit?: number;
}

/**
 * The width of a text in pixels, without a canvas. Follows DejaVu Sans, which is wide, so
 * that texts do not overlap in other fonts. Vega's own estimate, 0.8 em per letter,
 * leaves half the space empty.
 */
export function textWidth(item: TextItem, text: string): number {
  const { fontSize = 11, fontWeight = 'normal', limit = 0 } = item;
  const isBold = fontWeight === 'bold' || Number(fontWeight) >= 600;
  const ems = sum(text, letterWidth);
  const width = ems * fontSize * (isBold ? BOLD : 1);
  return limit > 0 ? Math.min(limit, width) : width;
}

const letterWidth = (letter: string): number =>
  LETTER_WIDTHS.findLast(([letters]) => letters.test(letter))?.[1] ?? LETTER_WIDTH;

/** Thrown for a chart that would take too long to draw, or loads data. */
export class ChartError extends Error {}

/** Time limit for a chart, plus an allowance per character of its specification. */
const LIMIT_MS = { base: 3000, perCharacter: 0.002 };

/** A chart ready to be drawn, and Vega's warnings. The caller finalizes the view. */
interface Layout {
  view: View;
  warnings: string[];
}

/**
 * Loads Vega, to lay out charts. Imported on demand, because its top-level await would
 * keep notebooks from importing this library (tslab uses `require`). Expressions are
 * interpreted, never compiled.
 * @throws (from the returned function) ChartError; Error for an invalid specification
 */
export async function loadVega(): Promise<(chart: Pick<Chart, 'title' | 'spec'>) => Layout> {
  const [vega, { compile }, { expressionInterpreter }] = await Promise.all([
    import('vega'),
    import('vega-lite'),
    import('vega-interpreter'),
  ]);
  // Missing in Vega's types.
  const { textMetrics } = vega as unknown as { textMetrics: { width: unknown } };
  textMetrics.width = (item: TextItem, line?: string | number | null) =>
    textWidth(item, String(line ?? ''));
  return ({ title, spec }) => {
    const warnings: string[] = [];
    const logger = vega.logger(vega.Warn, undefined, (_method, _level, args) =>
      warnings.push(args.map((arg) => (arg instanceof Error ? drawingFault(arg) : arg)).join(' ')),
    );
    let refused: ChartError | undefined;
    const refuse = (uri: string): never => {
      refused = new ChartError(
        `Expected the chart "${title}" to contain its data, but it refers to ${uri}.`,
      );
      throw refused;
    };
    const loader = { ...vega.loader(), load: refuse, sanitize: refuse, http: refuse, file: refuse };
    const options = { renderer: 'none', loader, logger, expr: expressionInterpreter } as const;
    const timeout = LIMIT_MS.base + LIMIT_MS.perCharacter * JSON.stringify(spec).length;
    const fail = (): Error =>
      new ChartError(
        `Expected the chart "${title}" to be drawn within ${Math.round(timeout / 1000)} s, but it was not. Aggregate its data first.`,
      );
    const draw = (): View => {
      // A copy, because Vega marks rows.
      const { spec: vegaSpec } = compile(readableSpec(spec) as unknown as TopLevelSpec, { logger });
      return new vega.View(vega.parse(vegaSpec, undefined, { ast: true }), options).run();
    };
    let view: View;
    try {
      view = limitTime(Math.ceil(timeout), fail, draw);
    } catch (cause) {
      if (cause instanceof ChartError) throw cause;
      const fault = drawingFault(cause as Error);
      throw new Error(`The chart "${title}" cannot be drawn: ${fault}`, { cause });
    }
    // Vega itself only warns.
    if (!refused) return { view, warnings };
    view.finalize();
    throw refused;
  };
}

/**
 * Draws a chart as SVG.
 * @throws ChartError; Error if Vega-Lite warns, because the chart then shows less than
 * intended
 */
export async function renderSvg(chart: Pick<Chart, 'title' | 'spec'>): Promise<string> {
  const { view, warnings } = (await loadVega())(chart);
  try {
    const svg = await view.toSVG();
    if (warnings.length > 0)
      throw new Error(
        `The chart "${chart.title}" cannot be drawn as specified: ${warnings.join('; ')}`,
      );
    return svg;
  } finally {
    view.finalize();
  }
}

const CHROMIUM_NAMES = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
];
/** Locations outside the PATH. */
const CHROMIUM_FILES = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/** Pixels of a PNG per unit of the drawing; sharp in print. */
const PNG_SCALE = 3;
const TIMEOUT_MS = 60_000;

/** Finds Chromium: `CHROMIUM` in the environment, on the PATH, or in a usual place. */
export function findChromium(): string | undefined {
  const files = [process.env.CHROMIUM, ...CHROMIUM_NAMES.map(findProgram), ...CHROMIUM_FILES];
  return files.find((file) => file && existsSync(file));
}

/**
 * Writes an SVG as PDF (one page of its size) or PNG (transparent), by the ending of
 * `file`.
 * @throws Error without Chromium
 */
export async function writePicture(svg: string, file: string): Promise<void> {
  const chromium = findChromium();
  if (!chromium)
    throw new Error(
      `Expected Chromium for ${path.basename(file)}, but found none. Install it, name it in CHROMIUM, or use SVG.`,
    );
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
    const output = file.endsWith('.pdf')
      ? ['--no-pdf-header-footer', `--print-to-pdf=${file}`]
      : [
          `--screenshot=${file}`,
          `--window-size=${width},${height}`,
          `--force-device-scale-factor=${PNG_SCALE}`,
          '--default-background-color=00000000',
        ];
    const flags = ['--headless', '--disable-gpu', '--hide-scrollbars', ...output];
    if (process.getuid?.() === 0) flags.push('--no-sandbox'); // the sandbox refuses root
    const files = [`--user-data-dir=${folder}/profile`, pathToFileURL(page).href];
    await promisify(execFile)(chromium, [...flags, ...files], { timeout: TIMEOUT_MS });
    if (!existsSync(file)) throw new Error(`Expected Chromium to write ${file}, but it did not.`);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
