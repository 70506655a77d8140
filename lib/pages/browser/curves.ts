/** Training curves: smoothing, the horizontal axis, and which of them stand out. */
import { drawCharts, type Spec } from '../../html/browser/charts.js';
import { byId } from '../../html/browser/dom.js';
import {
  highlightLines,
  linesOverTime,
  smoothLines,
  type LinesSpec,
} from '../../html/browser/lines.js';

let chosen: string[] | null = null;

async function draw(): Promise<void> {
  const weight = Number(byId<HTMLInputElement>('smoothing')?.value ?? 0);
  const isTime = byId<HTMLSelectElement>('axis')?.value === 'minutes';
  await drawCharts((spec) => {
    let changed = spec as LinesSpec;
    if (weight > 0) changed = smoothLines(changed, weight);
    if (isTime) changed = linesOverTime(changed);
    if (chosen) changed = highlightLines(changed, chosen);
    return changed as Spec;
  });
}

/** @param names of the runs whose curves stand out; null for all */
export function startCurves(names: string[] | null): Promise<void> {
  chosen = names;
  for (const id of ['smoothing', 'axis']) {
    const control = byId(id);
    if (control) control.onchange = () => void draw();
  }
  return draw();
}
