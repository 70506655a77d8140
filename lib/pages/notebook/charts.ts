/** Charts of a notebook, checked before a page draws them. */
import { z } from 'zod';
import { printExactJson } from '../../io/json.js';
import {
  codeCells,
  findVegaLite,
  type MimeBundle,
  type Notebook,
} from '../../notebook/nbformat.js';
import { ChartError, loadVega } from '../../report/charts/render.js';
import { valuesUnder, wrapSpec, type VegaLiteSpec } from '../../report/charts/spec.js';

export interface PreparedChart {
  spec: VegaLiteSpec;
  /** Static, if the chart could start work in the browser, or cannot be drawn there. */
  still?: string;
  /** Why the chart may not look as specified. */
  warnings: readonly string[];
}

/** The charts of a notebook, or why one is not shown. */
export type PreparedCharts = ReadonlyMap<MimeBundle, PreparedChart | Error>;

/** Vega's warning that there is no browser yet. */
const NO_WINDOW = /event source: window/;

/** Lays every chart out once, as the page will. */
export async function prepareCharts(notebook: Notebook): Promise<PreparedCharts> {
  const charts = new Map<MimeBundle, PreparedChart | Error>();
  for (const output of codeCells(notebook).flatMap(({ outputs }) => outputs)) {
    const mime = 'data' in output && findVegaLite(output.data);
    if (!mime) continue;
    const chart = prepareChart(output.data[mime]).catch((error: unknown) => error as Error);
    charts.set(output.data, await chart);
  }
  return charts;
}

/** @throws ChartError for a chart that would block the page, or be empty in it */
async function prepareChart(given: unknown): Promise<PreparedChart> {
  const spec = readSpec(given);
  const layOut = await loadVega();
  const isStill = isInteractive(spec) || hasTextData(spec);
  try {
    const { view, warnings } = layOut(wrapSpec(spec));
    const still = isStill ? await view.toSVG() : undefined;
    view.finalize();
    const relevant = warnings.filter((warning) => !NO_WINDOW.test(warning));
    return { spec, still, warnings: hasPictures(spec) ? [...relevant, NO_PICTURES] : relevant };
  } catch (error) {
    if (isStill || error instanceof ChartError) throw error;
    return { spec, warnings: [] }; // the page itself names other faults
  }
}

/** Whether a chart responds to events, which could start any work at any time. */
function isInteractive(spec: VegaLiteSpec): boolean {
  const changing = valuesUnder('params', spec)
    .flat()
    .filter((param) => ['bind', 'select'].some((key) => valuesUnder(key, [param]).length > 0));
  return [changing, valuesUnder('selection', spec), valuesUnder('signals', spec)].some(
    ({ length }) => length > 0,
  );
}

const NO_PICTURES = 'pictures from other addresses are not loaded';

/** Whether a chart shows pictures that the page does not contain. */
const hasPictures = (spec: VegaLiteSpec): boolean =>
  valuesUnder('mark', spec).some(
    (mark) => ((mark as { type?: unknown } | null)?.type ?? mark) === 'image',
  ) && !JSON.stringify(spec).includes('"data:image/');

/** Whether data are a text such as CSV, whose parser evaluates code: pages cannot. */
const hasTextData = (spec: VegaLiteSpec): boolean =>
  valuesUnder('data', spec).some(
    (data) => typeof (data as { values?: unknown } | null)?.values === 'string',
  );

const specSchema = z.record(z.string(), z.unknown());
/** Drops options for Vega-Embed, which could change the chart after its check. */
function readSpec(given: unknown): VegaLiteSpec {
  const { usermeta: _, ...spec } = specSchema.parse(JSON.parse(printExactJson(given, 0)));
  return spec;
}
