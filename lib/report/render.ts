/**
 * Charts as static pictures, drawn without a browser or a canvas. Vega is imported when
 * the first chart is drawn: it has a top-level await, with which no notebook could
 * `import` this library (tslab calls `require`).
 */
import type { TopLevelSpec } from 'vega-lite';
import type { Chart } from './chart.js';

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
