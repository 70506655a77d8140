/**
 * The script of the pages of runs: training curves, and the slider through rollouts. Each
 * part starts if its elements exist.
 */
import '../../browser/report.js';
import { highlightLines, linesOverTime, smoothLines } from '../../../report/charts/lines.js';
import type { DrawnSpec } from '../../../report/charts/spec.js';
import { drawCharts, type Spec } from '../../browser/charts.js';
import { byId, unpackElement } from '../../browser/dom.js';
import { keepLive } from './live.js';
import { startRuns } from './runs.js';

// Curves: smoothing, the horizontal axis, and which curves stand out

let chosen: string[] | null = null;

async function draw(): Promise<void> {
  const weight = Number(byId<HTMLInputElement>('smoothing')?.value ?? 0);
  const isTime = byId<HTMLSelectElement>('axis')?.value === 'minutes';
  await drawCharts((spec) => {
    let changed = spec as DrawnSpec;
    if (weight > 0) changed = smoothLines(changed, weight);
    if (isTime) changed = linesOverTime(changed);
    if (chosen) changed = highlightLines(changed, chosen);
    return changed as Spec;
  });
}

/** @param names of the runs whose curves stand out; null for all */
function startCurves(names: string[] | null): Promise<void> {
  chosen = names;
  for (const id of ['smoothing', 'axis']) {
    const control = byId(id);
    if (control) control.onchange = () => void draw();
  }
  return draw();
}

// Rollouts

/** Written by `rolloutSlider`. */
interface Carried {
  name: string;
  steps: number[];
  /** Prefix of a request for a step. */
  source?: string;
  html: Record<number, string | undefined>;
}

/** The rollouts of a step, from the page or its server. */
const stepHtml = async ({ source, html }: Carried, step: number): Promise<string> =>
  html[step] ?? (await fetch(`${source}step=${step}`)).text();

/** Initialises the slider from the page's data, and shows the selected step. */
function startRollouts(): void {
  const slider = byId<HTMLInputElement>('rollouts-step');
  const shown = byId('rollouts-shown');
  const names = byId<HTMLSelectElement>('rollouts-run');
  if (!slider || !shown || !names) return;
  const output = slider.parentElement!.querySelector('output')!;
  const loading = unpackElement('rollouts-carried').json() as Promise<Carried[]>;
  let asked = '';
  const show = async (): Promise<void> => {
    const carried = await loading;
    const run = carried.find(({ name }) => name === names.value) ?? carried[0];
    slider.max = String(run.steps.length - 1);
    const step = run.steps[Number(slider.value)];
    output.textContent = String(step);
    const wanted = (asked = `${run.name} ${step}`);
    const html = await stepHtml(run, step);
    if (wanted === asked) shown.innerHTML = html; // the slider may have moved on
  };
  slider.oninput = () => void show();
  names.onchange = () => {
    slider.max = slider.value = '1000000000'; // the newest step, whatever its number
    void show();
  };
  if (slider.value !== slider.max || names.selectedIndex > 0) void show();
}

/** Called again when a live page has replaced its content. */
async function start(): Promise<void> {
  startRollouts();
  await startCurves(startRuns((names) => void startCurves(names)));
}

void start();
keepLive(start);
