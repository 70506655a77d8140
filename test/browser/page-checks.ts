/**
 * Accessibility and layout of pages, checked in the browser: axe's rules and what axe
 * does not check. For the full run.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Axe from 'axe-core';
import { closeChromium, openPage, type Page } from './chromium.js';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/**
 * Violations of axe's rules, a line per element: rule, impact, selector. Long folded
 * tables are cut to five rows, since axe would spend most of its time on them.
 */
async function axeComplaints(page: Page, options: Axe.RunOptions): Promise<string[]> {
  if (await page.evaluate(() => !('axe' in globalThis)))
    await page.evaluate(`${readFileSync(AXE, 'utf8')}; undefined`);
  const violations = await page.evaluate(async (options) => {
    const { axe } = globalThis as unknown as { axe: typeof Axe };
    const rows = [...document.querySelectorAll('details tbody tr:nth-child(n + 6)')];
    const bodies = rows.map((row) => row.parentElement!);
    rows.forEach((row) => row.remove());
    const { violations } = await axe.run(document, { resultTypes: ['violations'], ...options });
    rows.forEach((row, i) => bodies[i].append(row));
    return violations;
  }, options);
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ target }) => `${id} (${impact}): ${target.join(' ')}`),
  );
}

interface AxNode {
  ignored: boolean;
  role?: { value: string };
  name?: { value: string };
  properties?: { name: string; value: { value: unknown } }[];
}

/** Roles that need a name; axe requires names only for controls and pictures. */
const NAMED_ROLES = /^(figure|table|navigation|region|graphics-document|graphics-symbol)$/;

/** Figures, tables, landmarks and focusable elements without an accessible name. */
async function nameComplaints(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  await session.send('Accessibility.enable');
  const { nodes } = (await session.send('Accessibility.getFullAXTree')) as { nodes: AxNode[] };
  await session.detach();
  const roleOf = ({ role }: AxNode): string => role?.value ?? '';
  const isFocusable = ({ properties = [] }: AxNode): boolean =>
    properties.some(({ name, value }) => name === 'focusable' && value.value === true);
  return nodes
    .filter((node) => !node.ignored && (NAMED_ROLES.test(roleOf(node)) || isFocusable(node)))
    .filter(({ name }) => (name?.value ?? '').trim() === '')
    .map((node) => `no name: ${roleOf(node)}`);
}

/** Duplicate ids, broken references to ids, and table headers. Runs in the page. */
function documentComplaints(): string[] {
  const complaints: string[] = [];
  const all = [...document.querySelectorAll('*')];
  const ids = all.map(({ id }) => id).filter(Boolean);
  for (const id of new Set(ids))
    if (ids.indexOf(id) !== ids.lastIndexOf(id)) complaints.push(`two ids ${id}`);
  for (const element of all) {
    for (const name of ['aria-labelledby', 'aria-describedby', 'aria-controls', 'for'])
      for (const id of (element.getAttribute(name) ?? '').split(' ').filter(Boolean))
        if (!document.getElementById(id))
          complaints.push(`${name} refers to ${id}, which is not there`);
    const href = element instanceof HTMLAnchorElement ? (element.getAttribute('href') ?? '') : '';
    if (/^#./.test(href) && !document.getElementById(href.slice(1)))
      complaints.push(`dead link ${href}`);
    if (element instanceof HTMLTableCellElement && element.tagName === 'TH' && !element.scope)
      complaints.push(`header without scope: ${element.textContent}`);
    if (element instanceof HTMLTableElement && !element.querySelector('th'))
      complaints.push('table without headers');
  }
  return complaints;
}

/**
 * WCAG 2 contrast: 4.5 for text (3 for large text), 3 for marks of a chart, with alpha
 * blended. Axe does not know a chart's colours and skips what it is unsure of. Runs in
 * the page.
 */
function contrastComplaints(): string[] {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!;
  const known = new Map<string, number[]>();
  const parse = (color: string): number[] => {
    if (!known.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(color, [r, g, b, a / 255]);
    }
    return known.get(color)!;
  };
  const blend = ([r, g, b, a]: number[], under: number[]): number[] =>
    [r, g, b].map((x, i) => a * x + (1 - a) * under[i]);
  const behind = (element: Element | null): number[] => {
    if (!element)
      return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
    const color = parse(getComputedStyle(element).backgroundColor);
    return color[3] === 1 ? color.slice(0, 3) : blend(color, behind(element.parentElement));
  };
  const luminance = (color: number[]): number =>
    color
      .map((x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4))
      .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  const complaints = new Set<string>();
  const check = (element: Element, color: string, wanted: number, what: string): void => {
    const under = behind(element);
    const [low, high] = [blend(parse(color), under), under].map(luminance).sort((x, y) => x - y);
    const found = (high + 0.05) / (low + 0.05);
    if (found < wanted)
      complaints.add(`${found.toFixed(2)} instead of ${wanted}: ${what} ${color}`);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const element = node.parentElement!;
    const text = node.textContent!.trim();
    if (text === '' || element.matches('script, style, noscript') || !element.checkVisibility())
      continue;
    const { fill, color, fontSize, fontWeight } = getComputedStyle(element);
    const size = parseFloat(fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700);
    const ink = (element as Element) instanceof SVGElement ? fill : color;
    check(element, ink, isLarge ? 3 : 4.5, `text "${text.slice(0, 40)}"`);
  }
  for (const mark of document.querySelectorAll('svg [class*="role-mark"] :is(path, line)')) {
    const { fill, stroke, opacity, fillOpacity } = getComputedStyle(mark);
    if (Number(opacity) < 0.7 || Number(fillOpacity) < 0.7) continue; // a band repeats its line
    const color = [fill, stroke].find((paint) => paint !== 'none' && !paint.startsWith('url'));
    if (color && parse(color)[3] > 0) check(mark, color, 3, 'mark');
  }
  return [...complaints];
}

/** Of windows, in pixels: a desktop, a tablet and a phone. */
const WIDTHS = [1440, 768, 390];

/** Axe's rules that depend on colours. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];
const NO_COLORS = { rules: Object.fromEntries(COLOR_RULES.map((id) => [id, { enabled: false }])) };

/** Faults of contrast, in light and dark. */
async function schemeComplaints(page: Page): Promise<string[]> {
  const complaints: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate(contrastComplaints);
    found.push(...(await axeComplaints(page, { runOnly: COLOR_RULES })));
    complaints.push(...found.map((line) => `${colorScheme}: ${line}`));
  }
  await page.emulateMedia({ colorScheme: null });
  return complaints;
}

/**
 * What overflows a window of 320 pixels (a small phone, or 400 % zoom), and axe's
 * findings there, such as boxes that only scroll by mouse.
 */
async function narrowComplaints(page: Page): Promise<string[]> {
  const before = page.viewportSize()!;
  await page.setViewportSize({ width: 320, height: 640 });
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  const found = await axeComplaints(page, NO_COLORS);
  await page.setViewportSize(before);
  return [...(width > 320 ? [`${width} pixels wide in a window of 320`] : []), ...found];
}

/** Texts and points of charts that are cut off or overlap. Runs in the page. */
function drawingComplaints(): string[] {
  type Corners = { x: number; y: number }[];
  /** Corners on the screen, so that slanted labels are measured exactly. */
  const corners = (element: SVGGraphicsElement): Corners => {
    const { x, y, width, height } = element.getBBox();
    const matrix = element.getScreenCTM()!;
    const [right, bottom] = [x + width, y + height];
    const points = [new DOMPoint(x, y), new DOMPoint(right, y)];
    points.push(new DOMPoint(right, bottom), new DOMPoint(x, bottom));
    return points.map((point) => point.matrixTransform(matrix));
  };
  /** Whether a line parallel to a side of one of them separates them. */
  const areApart = (one: Corners, other: Corners): boolean =>
    [one, other].some((box) =>
      [0, 1].some((i) => {
        const [dx, dy] = [box[i + 1].x - box[i].x, box[i + 1].y - box[i].y];
        const length = Math.hypot(dx, dy);
        const [[a, b], [c, d]] = [one, other].map((points) => {
          const along = points.map(({ x, y }) => (x * dx + y * dy) / length);
          return [Math.min(...along), Math.max(...along)];
        });
        // The box of a text is taller than its letters.
        return a > d - 2 || c > b - 2;
      }),
    );
  /** Whether two labels of a line read as one. */
  const touch = ([one, end]: Corners, [other, otherEnd]: Corners): boolean => {
    const isLevel = [one.y - end.y, other.y - otherEnd.y, one.y - other.y].every(
      (slope) => Math.abs(slope) < 0.5,
    );
    const gap = Math.max(one.x, other.x) - Math.min(end.x, otherEnd.x);
    return isLevel && gap > -2 && gap < 2.5;
  };
  const complaints: string[] = [];
  for (const drawing of document.querySelectorAll<SVGSVGElement>(':is(.drawing, .picture) svg')) {
    if (drawing.parentElement!.closest('svg') || !drawing.checkVisibility()) continue;
    const name = drawing.closest('[aria-label]')?.ariaLabel ?? drawing.textContent.slice(0, 40);
    const edge = drawing.getBoundingClientRect();
    const texts = [...drawing.querySelectorAll('text')].filter(
      (text) => text.textContent.trim() !== '' && getComputedStyle(text).opacity !== '0',
    );
    const marks = drawing.querySelectorAll<SVGPathElement>('.mark-symbol.role-mark path');
    for (const element of [...texts, ...marks]) {
      const box = element.getBoundingClientRect();
      const isAside = box.left < edge.left - 1 || box.right > edge.right + 1;
      if (isAside || box.top < edge.top - 1 || box.bottom > edge.bottom + 1)
        complaints.push(`cut: "${element.textContent || 'a point'}" of ${name}`);
    }
    const boxes = texts.map(corners);
    boxes.forEach((box, i) =>
      boxes.slice(0, i).forEach((other, j) => {
        const fault = touch(box, other) ? 'runs into' : !areApart(box, other) && 'is on top of';
        const [before, after] = [texts[j], texts[i]].map(({ textContent }) => `"${textContent}"`);
        if (fault) complaints.push(`${before} ${fault} ${after} of ${name}`);
      }),
    );
    const room = drawing.closest('.drawing, .picture')!;
    if (room.scrollWidth > room.clientWidth + 1) complaints.push(`wider than its place: ${name}`);
  }
  return complaints;
}

/**
 * Texts outside charts that are clipped without an ellipsis or a way to scroll to them,
 * captions partly out of view, and overlapping texts. Only the first rows of a long table
 * are checked. Runs in the page.
 */
function textComplaints(): string[] {
  interface Place {
    text: string;
    node: Node;
    box: DOMRect;
  }
  const complaints: string[] = [];
  const places: Place[] = [];
  // An open menu covers the page.
  const skipped =
    'script, style, noscript, svg *, option, .skip, .site ul *, tr:nth-child(n + 7) *';
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement!;
    const text = node.textContent!.trim();
    const isShown = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (text === '' || element.matches(skipped) || !isShown) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, top, right, bottom } of range.getClientRects()) {
      const seen = { left, top, right, bottom };
      for (let box: Element | null = element; box; box = box.parentElement) {
        const style = getComputedStyle(box);
        if (style.overflowX === 'visible' && style.overflowY === 'visible') continue;
        const edge = box.getBoundingClientRect();
        const isOut = { x: right > edge.right + 1, y: bottom > edge.bottom + 1 };
        const isCaption = element.closest('caption, figcaption, legend') !== null;
        const hides = (axis: 'x' | 'y'): boolean =>
          isOut[axis] &&
          (/hidden|clip/.test(axis === 'x' ? style.overflowX : style.overflowY)
            ? style.textOverflow !== 'ellipsis'
            : axis === 'x' && isCaption && box.scrollLeft === 0);
        if (hides('x') || hides('y')) complaints.push(`cut: "${text.slice(0, 60)}"`);
        seen.left = Math.max(seen.left, edge.left);
        seen.top = Math.max(seen.top, edge.top);
        seen.right = Math.min(seen.right, edge.right);
        seen.bottom = Math.min(seen.bottom, edge.bottom);
      }
      const [width, height] = [seen.right - seen.left, seen.bottom - seen.top];
      if (width > 0 && height > 0)
        places.push({ text, node, box: new DOMRect(seen.left, seen.top, width, height) });
    }
  }
  places.sort((a, b) => a.box.top - b.box.top);
  places.forEach(({ text, node, box }, i) => {
    for (const other of places.slice(i + 1)) {
      if (other.box.top > box.bottom) break;
      const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
      const down = Math.min(box.bottom, other.box.bottom) - other.box.top;
      // Line boxes are taller than their letters.
      const isOn = across > 2 && down > 0.4 * Math.min(box.height, other.box.height);
      if (isOn && other.node !== node)
        complaints.push(`"${text.slice(0, 40)}" is on top of "${other.text.slice(0, 40)}"`);
    }
  });
  return [...new Set(complaints)];
}

/** Faults in windows of several widths. */
async function complaintsByWidth(page: Page, find: () => Promise<string[]>): Promise<string[]> {
  const before = page.viewportSize()!;
  const complaints: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    complaints.push(...(await find()).map((line) => `${width} pixels: ${line}`));
  }
  await page.setViewportSize(before);
  return complaints;
}

/** Faults of the texts of a page. */
export const layoutComplaints = (page: Page): Promise<string[]> =>
  complaintsByWidth(page, () => page.evaluate(textComplaints));

/** Faults of the charts of a page. */
export const chartComplaints = (page: Page): Promise<string[]> =>
  complaintsByWidth(page, async () => {
    await page.reload();
    await chartsDrawn(page);
    return page.evaluate(drawingComplaints);
  });

/** Accessibility and layout of texts, with details as they are, then all open. */
export async function accessibilityComplaints(page: Page): Promise<string[]> {
  const folded = await nameComplaints(page);
  await page.evaluate(() =>
    document.querySelectorAll('details').forEach((details) => (details.open = true)),
  );
  return [
    ...folded,
    ...(await nameComplaints(page)),
    ...(await page.evaluate(documentComplaints)),
    ...(await schemeComplaints(page)),
    ...(await narrowComplaints(page)),
    ...(await axeComplaints(page, NO_COLORS)),
    ...(await layoutComplaints(page)),
  ];
}

/** Waits until every chart of a report is interactive. */
export async function chartsDrawn(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const [charts, drawn] = ['script[data-chart]', '.drawing .vega-embed svg'];
    return document.querySelectorAll(charts).length === document.querySelectorAll(drawn).length;
  });
}

/** All faults of a report, with and without scripts; also requests and the console. */
export async function complaintsAboutReport(file: string): Promise<string[]> {
  const complaints: string[] = [];
  for (const withScripts of [true, false]) {
    const { page, ...told } = await openPage(file, { withScripts });
    if (withScripts) await chartsDrawn(page);
    const drawn = withScripts ? await chartComplaints(page) : [];
    const found = [...drawn, ...told.complaints, ...told.requests];
    found.push(...(await accessibilityComplaints(page)));
    complaints.push(...found.map((line) => `${withScripts ? 'with' : 'without'} scripts: ${line}`));
  }
  await closeChromium();
  return complaints;
}
