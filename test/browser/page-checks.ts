/** What every page must be for every reader, checked in the browser: axe's rules, and what axe doesn't look at. */
import { axeComplaints } from './axe.js';
import { startChromium, type Browser, type BrowserPage } from './chromium.js';

interface AxNode {
  ignored: boolean;
  role?: { value: string };
  name?: { value: string };
  properties?: { name: string; value: { value: unknown } }[];
}

/** Roles that a reader wants to know by name before reading them; axe asks names only of controls and pictures. */
const NAMED_ROLES = ['figure', 'table', 'navigation', 'region', 'graphics-document', 'graphics-symbol'];

/** What has no name in the tree that screen readers read: figures, tables, landmarks, all that the keyboard reaches. */
async function nameComplaints(page: BrowserPage): Promise<string[]> {
  await page.send('Accessibility.enable');
  const { nodes } = await page.send<{ nodes: AxNode[] }>('Accessibility.getFullAXTree');
  const roleOf = ({ role }: AxNode): string => role?.value ?? '';
  const isFocusable = ({ properties = [] }: AxNode): boolean =>
    properties.some(({ name, value }) => name === 'focusable' && value.value === true);
  return nodes
    .filter((node) => !node.ignored && (NAMED_ROLES.includes(roleOf(node)) || isFocusable(node)))
    .filter(({ name }) => (name?.value ?? '').trim() === '')
    .map((node) => `no name: ${roleOf(node)}`);
}

/** Ids, what refers to them, and the headers of tables. */
const DOCUMENT_AUDIT = `(() => {
  const complaints = [];
  const all = [...document.querySelectorAll('*')];
  const ids = all.map((element) => element.id).filter(Boolean);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) complaints.push('two ids ' + id);
  for (const element of all) {
    for (const name of ['aria-labelledby', 'aria-describedby', 'aria-controls', 'for'])
      for (const id of (element.getAttribute(name) ?? '').split(' ').filter(Boolean))
        if (!document.getElementById(id)) complaints.push(name + ' refers to ' + id + ', which is not there');
    const href = element.tagName === 'A' ? element.getAttribute('href') ?? '' : '';
    if (href.length > 1 && href.startsWith('#') && !document.getElementById(href.slice(1))) complaints.push('dead link ' + href);
    if (element.tagName === 'TH' && !element.scope) complaints.push('header without scope: ' + element.textContent);
    if (element.tagName === 'TABLE' && !element.querySelector('th')) complaints.push('table without headers');
  }
  return complaints.join('\\n');
})()`;

/**
 * Contrast by WCAG 2: 4.5 for text (3 where it is large), 3 for what a chart draws. Alphas are blended. Axe knows neither
 * the colours of a drawing nor those of single signs, and says nothing where it is not sure.
 */
const CONTRAST_AUDIT = `(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const known = new Map();
  const parse = (color) => {
    if (!known.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(color, [r, g, b, a / 255]);
    }
    return known.get(color);
  };
  const blend = ([r, g, b, a], under) => [r, g, b].map((x, i) => a * x + (1 - a) * under[i]);
  const behind = (element) => {
    if (!element) return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
    const color = parse(getComputedStyle(element).backgroundColor);
    return color[3] === 1 ? color.slice(0, 3) : blend(color, behind(element.parentElement));
  };
  const luminance = (color) => color
    .map((x) => x / 255)
    .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const complaints = new Set();
  const check = (element, color, wanted, what) => {
    const under = behind(element);
    const found = contrast(blend(parse(color), under), under);
    if (found < wanted) complaints.add(found.toFixed(2) + ' instead of ' + wanted + ': ' + what + ' ' + color);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const element = node.parentElement;
    if (node.data.trim() === '' || ['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(element.tagName) || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    check(element, element instanceof SVGElement ? style.fill : style.color, isLarge ? 3 : 4.5, 'text "' + node.data.trim().slice(0, 40) + '"');
  }
  for (const mark of document.querySelectorAll('svg [class*="role-mark"] path, svg [class*="role-mark"] line')) {
    const { fill, stroke, opacity, fillOpacity } = getComputedStyle(mark);
    if (opacity < 0.7 || fillOpacity < 0.7) continue; // a band around a line says what the line says
    const color = [fill, stroke].find((paint) => paint !== 'none' && !paint.startsWith('url'));
    if (color && parse(color)[3] > 0) check(mark, color, 3, 'mark');
  }
  return [...complaints].join('\\n');
})()`;

const OPEN_DETAILS = `document.querySelectorAll('details').forEach((details) => { details.open = true; })`;
const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

/** Axe's rules whose verdict may change with the colours. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

/** What is wrong in a page by axe's rules and by our own look at its colours, in light and dark. */
async function schemeComplaints(page: BrowserPage): Promise<string[]> {
  const complaints: string[] = [];
  for (const value of ['light', 'dark']) {
    await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] });
    const found = await axeComplaints(page, value === 'dark' ? COLOR_RULES : undefined);
    found.push(...lines(await page.evaluate(CONTRAST_AUDIT)));
    complaints.push(...found.map((line) => `${value}: ${line}`));
  }
  await page.send('Emulation.setEmulatedMedia', { features: [] });
  return complaints;
}

/** What sticks out of a window of 320 pixels (a small telephone, a page at 400 %), or scrolls there by mouse alone. */
async function reflowComplaints(page: BrowserPage): Promise<string[]> {
  await page.send('Emulation.setDeviceMetricsOverride', {
    ...{ width: 320, height: 640, deviceScaleFactor: 1, mobile: false },
  });
  const width = await page.evaluate<number>('document.documentElement.scrollWidth');
  const scrollers = await axeComplaints(page, ['scrollable-region-focusable']);
  await page.send('Emulation.clearDeviceMetricsOverride');
  return [...(width > 320 ? [`${width} pixels wide in a window of 320`] : []), ...scrollers];
}

/** All of these checks, for the page as it stands and with all details open, as they are afterwards. */
export async function accessibilityComplaints(page: BrowserPage): Promise<string[]> {
  const folded = await nameComplaints(page);
  await page.evaluate(OPEN_DETAILS);
  return [
    ...folded,
    ...(await nameComplaints(page)),
    ...lines(await page.evaluate(DOCUMENT_AUDIT)),
    ...(await schemeComplaints(page)),
    ...(await reflowComplaints(page)),
  ];
}

/** Waits until an expression is true in the page. */
export async function waitFor(page: BrowserPage, condition: string, patienceMs = 60_000): Promise<void> {
  const complaint = JSON.stringify(`Expected ${condition} within ${patienceMs} ms, but it was not so.`);
  await page.evaluate(`new Promise((resolve, reject) => {
    const start = performance.now();
    (function look() {
      if (${condition}) resolve();
      else if (performance.now() - start > ${patienceMs}) reject(new Error(${complaint}));
      else setTimeout(look, 20);
    })();
  })`);
}

/** Waits until every chart of a report is interactive. */
export async function chartsDrawn(page: BrowserPage): Promise<void> {
  const count = (selector: string): string => `document.querySelectorAll('${selector}').length`;
  await waitFor(page, `${count('script[data-chart]')} === ${count('.drawing .vega-embed svg')}`);
}

/** All that is wrong with a report's file in a browser of its own. */
export async function complaintsAboutReport(file: string): Promise<string[]> {
  const browser = await startChromium();
  try {
    return await reportComplaints(browser, file);
  } finally {
    await browser.close();
  }
}

/** All that is wrong with a report's file, with scripts and without: also what it asks for, and what it complains of. */
export async function reportComplaints(browser: Browser, file: string): Promise<string[]> {
  const complaints: string[] = [];
  for (const withScripts of [true, false]) {
    const page = await browser.newPage();
    await page.send('Emulation.setScriptExecutionDisabled', { value: !withScripts });
    await page.open(file);
    if (withScripts) await chartsDrawn(page);
    const found = [...page.complaints, ...page.requests, ...(await accessibilityComplaints(page))];
    complaints.push(...found.map((line) => `${withScripts ? 'with' : 'without'} scripts: ${line}`));
  }
  return complaints;
}
