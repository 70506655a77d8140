/** Makes the charts of a page interactive. */
import embed, { type Result, type VisualizationSpec } from 'vega-embed';
import { narrowed } from '../../report/charts/narrow.js';
import { drawingFault, readableSpec } from '../../report/charts/readable.js';
import type { DrawnSpec } from '../../report/charts/spec.js';
import { h } from './dom.js';

export type Spec = VisualizationSpec & { title?: { text?: string } };

function offerFiles(figure: Element, name: string, spec: Spec, view: Result['view']): void {
  const json = new Blob([JSON.stringify(spec, null, 2)], { type: 'application/json' });
  const files: [label: string, ending: string, href: () => Promise<string> | string][] = [
    ['SVG', 'svg', () => view.toImageURL('svg')],
    ['PNG', 'png', () => view.toImageURL('png', 3)],
    ['Vega-Lite', 'vl.json', () => URL.createObjectURL(json)],
  ];
  const downloads = figure.querySelector('.downloads')!;
  downloads.querySelectorAll('button').forEach((button) => button.remove()); // left by an earlier drawing
  for (const [label, ending, href] of files) {
    const save = async () => h('a', { download: `${name}.${ending}`, href: await href() }).click();
    const attributes = { type: 'button', 'aria-label': `${label}: ${spec.title?.text ?? name}` };
    downloads.append(' ', h('button', { ...attributes, onclick: () => void save() }, label));
  }
}

async function drawChart(
  { dataset, textContent }: HTMLElement,
  change: (spec: Spec) => Spec,
): Promise<void> {
  const spec = change(JSON.parse(textContent) as Spec);
  const { $schema: _, ...drawn } = readableSpec(spec); // names version 5, for JupyterLab; this page has version 6
  const figure = document.getElementById(dataset.chart!)!;
  const live = h('div');
  // `ast`: the page's policy forbids `eval`, so expressions are interpreted.
  const fixed = { mode: 'vega-lite', renderer: 'svg', ast: true, actions: false } as const;
  // The page's policy blocks Vega's own styles.
  const options = { ...fixed, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  const drawing = figure.querySelector('.drawing')!;
  let { view } = await embed(live, drawn, options);
  drawing.replaceChildren(live);
  let room = drawing.clientWidth;
  // The width of axes and legend is known only after drawing.
  for (let tries = 0; tries < 3 && drawing.scrollWidth > drawing.clientWidth; tries++) {
    if (tries > 0) room -= drawing.scrollWidth - drawing.clientWidth + 4;
    ({ view } = await embed(
      live,
      narrowed(drawn as DrawnSpec, room, drawing.clientWidth) as VisualizationSpec,
      options,
    ));
  }
  drawing.setAttribute('role', 'group');
  offerFiles(figure, dataset.name!, spec, view);
}

const showFailure =
  ({ dataset }: HTMLElement) =>
  (error: Error): void => {
    console.error(error);
    const drawing = document.getElementById(dataset.chart!)?.querySelector('.drawing');
    if (drawing && !drawing.hasChildNodes())
      drawing.textContent = `This chart cannot be drawn: ${drawingFault(error)}`;
  };

/** Lets the page respond to its reader. */
const pause = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve));

/**
 * Replaces pictures by interactive charts with save buttons, one after another. If a
 * chart fails, its picture stays, or a sentence says so. Pages with new charts call this
 * again.
 * @param change applied to each specification before it is drawn
 */
export async function drawCharts(change = (spec: Spec): Spec => spec): Promise<void> {
  const charts = [...document.querySelectorAll<HTMLElement>('script[data-chart]')];
  for (const chart of charts) {
    await pause();
    await drawChart(chart, change).catch(showFailure(chart));
  }
}
