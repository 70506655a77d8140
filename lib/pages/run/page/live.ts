/**
 * The live page: asks for its changed part and puts it in place. The reader can switch
 * that off.
 */
import { drawCharts } from '../../../html/browser/charts.js';
import '../../../html/browser/report.js';
import { POLL_MS } from '../polling.js';

const byId = (id: string): HTMLElement => document.getElementById(id)!;
const all = (selector: string) => [...document.querySelectorAll<HTMLElement>(`#run ${selector}`)];
const details = (): HTMLDetailsElement[] => all('details') as HTMLDetailsElement[];
const focusable = (): HTMLElement[] => all(':is(a, button, summary, [tabindex])');

/** What is unfolded stays so, and the focus stays where it is. */
async function showNews(html: string): Promise<void> {
  const open = details().map((element) => element.open);
  const focused = focusable().findIndex((element) => element === document.activeElement);
  byId('run').outerHTML = html;
  details().forEach((element, i) => (element.open = open[i] ?? false));
  await drawCharts();
  focusable()[focused]?.focus({ preventScroll: true });
  byId('live-status').textContent = byId('progress').textContent;
}

async function askForNews(): Promise<void> {
  if (!(byId('live') as HTMLInputElement).checked) return;
  const { version = '' } = byId('run').dataset;
  const response = await fetch(`content?version=${encodeURIComponent(version)}`);
  if (response.status === 200) await showNews(await response.text());
}

async function keepAsking(): Promise<void> {
  const silence =
    'Nobody answers: the run has ended or was stopped. Its report is report.html in its folder.';
  await askForNews().catch(() => (byId('live-status').textContent = silence));
  setTimeout(() => void keepAsking(), POLL_MS);
}

void drawCharts();
setTimeout(() => void keepAsking(), POLL_MS);
