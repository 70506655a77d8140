/** Charts as static pictures: SVG without a browser, PDF and PNG by Chromium. */
import type { TopLevelSpec } from 'vega-lite';
import type { Chart, VegaLiteSpec } from './chart.js';
import { narrowed } from '../html/browser/narrow.js';
import { withUniqueIds } from './figures.js';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { findProgram } from '../io/paths.js';

/**
 * Draws a chart as SVG. Throws when Vega-Lite warns of anything: a warning is a chart
 * that shows less than meant.
 */
export async function renderSvg({ title, spec }: Pick<Chart, 'title' | 'spec'>): Promise<string> {
  const [vega, { compile }] = await Promise.all([import('vega'), import('vega-lite')]);
  const warnings: string[] = [];
  const logger = vega.logger(vega.Warn, undefined, (_method, _level, args) =>
    warnings.push(args.join(' ')),
  );
  // a copy, for Vega marks the rows that it draws
  const { spec: vegaSpec } = compile(structuredClone(spec) as unknown as TopLevelSpec, { logger });
  const loader = { ...vega.loader(), load: refuse, sanitize: refuse, http: refuse, file: refuse };
  const view = new vega.View(vega.parse(vegaSpec), { renderer: 'none', loader, logger });
  try {
    const svg = await view.toSVG();
    if (warnings.length > 0)
      throw new Error(`The chart "${title}" is not drawn as specified: ${warnings.join('; ')}`);
    return svg;
  } finally {
    view.finalize();
  }
}

/**
 * In place of every way to load something: the data of a chart is inside its
 * specification.
 */
function refuse(uri: string): never {
  throw new Error(`Expected the data of a chart inside it, but it refers to ${uri}.`);
}

/** Pixels. */
const [WIDTH, HEIGHT] = [330, 110];

/**
 * Small letters; the title of the vertical axis stands above it, and the legend in two
 * columns.
 */
const CONFIG = {
  axis: { labelFontSize: 10, titleFontSize: 10, titleFontWeight: 'normal', gridOpacity: 0.6 },
  axisY: { titleAngle: 0, titleAlign: 'left', titleAnchor: 'end', titleX: -20, titleY: -10 },
  legend: {
    columns: 2,
    titleFontSize: 10,
    labelFontSize: 10,
    titleOrient: 'left',
    symbolSize: 40,
    labelLimit: 120,
  },
};

interface Facet {
  field: string;
  sort?: unknown[];
}

const drawn = new Map<string, Promise<string>>();

/**
 * The picture as SVG, whose ids begin with `id`; a chart is drawn once in the life of a
 * process.
 */
export function thumbnailSvg(spec: VegaLiteSpec, id: string): Promise<string> {
  const key = JSON.stringify([id, spec]);
  if (!drawn.has(key)) drawn.set(key, draw(spec, id));
  return drawn.get(key)!;
}

async function draw(
  { data, facet = {}, spec, config, title: _, ...chart }: VegaLiteSpec,
  id: string,
) {
  const { values } = data as { values: VegaLiteSpec[] };
  const facets = (
    'field' in (facet as object) ? [facet] : Object.values(facet as object)
  ) as Facet[];
  const isLast = (row: VegaLiteSpec): boolean =>
    facets.every(({ field, sort }) => !sort || row[field] === sort.at(-1));
  const view = { ...(spec ?? chart), data: { values: values.filter(isLast) }, height: HEIGHT };
  const small = narrowed({ ...view, config: { ...(config as object), ...CONFIG } }, WIDTH);
  const svg = await renderSvg({ title: id, spec: { ...small, title: undefined } });
  return withUniqueIds(svg, id);
}

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
