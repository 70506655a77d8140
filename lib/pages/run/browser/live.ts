/** Keeps the live page up to date, until the reader unticks the box. */
import { drawCharts } from '../../../html/browser/charts.js';
import '../../../html/browser/report.js';

const byId = (id: string): HTMLElement => document.getElementById(id)!;
const all = (selector: string) => [...document.querySelectorAll<HTMLElement>(`#run ${selector}`)];
const details = (): HTMLDetailsElement[] => all('details') as HTMLDetailsElement[];
const focusable = (): HTMLElement[] => all(':is(a, button, summary, [tabindex])');
const pollMs = Number(byId('live').dataset.pollMs);

/** Replaces the content; unfolded details and the focus stay. */
async function update(html: string): Promise<void> {
  const open = details().map((element) => element.open);
  const focused = focusable().findIndex((element) => element === document.activeElement);
  byId('run').outerHTML = html;
  details().forEach((element, i) => (element.open = open[i] ?? false));
  await drawCharts();
  focusable()[focused]?.focus({ preventScroll: true });
  byId('live-status').textContent = byId('progress').textContent;
}

async function poll(): Promise<void> {
  if (!(byId('live') as HTMLInputElement).checked) return;
  const { version = '' } = byId('run').dataset;
  const response = await fetch(`content?version=${encodeURIComponent(version)}`);
  if (response.status === 200) await update(await response.text());
}

async function keepPolling(): Promise<void> {
  const offline = 'No response: the run has ended. Open report.html in its folder.';
  await poll().catch(() => (byId('live-status').textContent = offline));
  setTimeout(() => void keepPolling(), pollMs);
}

void drawCharts();
setTimeout(() => void keepPolling(), pollMs);
