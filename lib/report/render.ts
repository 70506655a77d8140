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
 * Draws a chart as SVG. Vega is imported on demand because its top-level await would
 * keep notebooks from importing this library (tslab uses `require`).
 * @throws Error if Vega-Lite warns, since the chart then shows less than intended
 */
export async function renderSvg({ title, spec }: Pick<Chart, 'title' | 'spec'>): Promise<string> {
  const [vega, { compile }] = await Promise.all([import('vega'), import('vega-lite')]);
  const warnings: string[] = [];
  const logger = vega.logger(vega.Warn, undefined, (_method, _level, args) =>
    warnings.push(args.join(' ')),
  );
  // A copy, because Vega marks rows.
  const { spec: vegaSpec } = compile(structuredClone(spec) as unknown as TopLevelSpec, { logger });
  const loader = { ...vega.loader(), load: refuse, sanitize: refuse, http: refuse, file: refuse };
  const view = new vega.View(vega.parse(vegaSpec), { renderer: 'none', loader, logger });
  try {
    const svg = await view.toSVG();
    if (warnings.length > 0)
      throw new Error(`The chart "${title}" cannot be drawn as specified: ${warnings.join('; ')}`);
    return svg;
  } finally {
    view.finalize();
  }
}

/** Replaces all ways to load something: a chart contains its data. */
function refuse(uri: string): never {
  throw new Error(`Expected the chart to contain its data, but it refers to ${uri}.`);
}

const THUMBNAIL = { widthPx: 330, heightPx: 110 };

/** Small text, the title of the vertical axis above it, the legend in two columns. */
const THUMBNAIL_CONFIG = {
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

const thumbnails = new Map<string, Promise<string>>();

/**
 * The last panel of a chart as a small SVG without title; cached. `id` prefixes its ids.
 */
export function thumbnailSvg(spec: VegaLiteSpec, id: string): Promise<string> {
  const key = JSON.stringify([id, spec]);
  if (!thumbnails.has(key)) thumbnails.set(key, drawThumbnail(spec, id));
  return thumbnails.get(key)!;
}

async function drawThumbnail(
  { data, facet = {}, spec, config, title: _, ...chart }: VegaLiteSpec,
  id: string,
) {
  const { values } = data as { values: VegaLiteSpec[] };
  const facets = (
    'field' in (facet as object) ? [facet] : Object.values(facet as object)
  ) as Facet[];
  const isLast = (row: VegaLiteSpec): boolean =>
    facets.every(({ field, sort }) => !sort || row[field] === sort.at(-1));
  const view = {
    ...(spec ?? chart),
    data: { values: values.filter(isLast) },
    height: THUMBNAIL.heightPx,
  };
  const small = narrowed(
    { ...view, config: { ...(config as object), ...THUMBNAIL_CONFIG } },
    THUMBNAIL.widthPx,
  );
  const svg = await renderSvg({ title: id, spec: { ...small, title: undefined } });
  return withUniqueIds(svg, id);
}

const CHROMIUM_NAMES = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
];
/** Locations outside of PATH. */
const CHROMIUM_FILES = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/** Pixels of a PNG per unit of the drawing; sharp in print. */
const PNG_SCALE = 3;
const TIMEOUT_MS = 60_000;

/**
 * The file of Chromium: `CHROMIUM` of the environment, on the PATH or in usual places.
 */
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
    const output = file.endsWith('.pdf')
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
    if (process.getuid?.() === 0) flags.push('--no-sandbox'); // The sandbox refuses root.
    await promisify(execFile)(chromium, [...flags, ...output, pathToFileURL(page).href], {
      timeout: TIMEOUT_MS,
    });
    if (!existsSync(file)) throw new Error(`Expected Chromium to write ${file}, but it did not.`);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
