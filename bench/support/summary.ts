/** The README's text on speed, from the rows of docs/performance.json. */
import { extent } from 'd3-array';
import type { Comparison } from './peer.js';

/** A row of docs/performance.json. */
export interface Row extends Comparison {
  backend: string;
  /** What `batch` counts, as in `8 rows`. */
  counted: string;
  unit: string;
}

/** Comments before and after the text. */
const [START, END] = ['<!-- written by npm run bench -->\n', '\n<!-- end of speed -->'];

/** Line width in characters. */
const WIDTH = 140;

/** Returns the README with its text on speed replaced. */
export function updateReadme(readme: string, rows: readonly Row[]): string {
  const [start, end] = [readme.indexOf(START) + START.length, readme.indexOf(END)];
  return `${readme.slice(0, start)}${wrap(summarise(rows))}${readme.slice(end)}`;
}

function summarise(rows: readonly Row[]): string {
  const select = (work: string, peer: string, backend = 'native'): Row[] =>
    rows.filter(
      (row) => row.work.split(', ')[0] === work && row.peer === peer && row.backend === backend,
    );
  /** The minimum and maximum of the median ratios; undefined without rows. */
  const times = (selected: readonly Row[]): string | undefined => {
    const bounds = extent(selected, ({ ratioOfSeconds }) => ratioOfSeconds?.[1]);
    if (bounds[0] === undefined) return undefined;
    const [least, most] = bounds.map((value) => String(Number(value.toPrecision(2))));
    return least === most ? least : `${least} to ${most}`;
  };
  const step = select('GRPO step', 'TRL');
  const [memory] = step;
  const parts = [
    ['generation takes', times(select('generation', 'transformers')), 'transformers'],
    ['gradients', times(select('gradients', 'transformers')), 'PyTorch'],
    [
      'a GRPO step',
      times(step),
      `TRL (peak memory ${memory?.peakGigabytes} GB instead of ${memory?.peerPeakGigabytes})`,
    ],
    ['a BM25 query on disk', times(select('BM25 query', 'bm25s', 'disk')), 'bm25s'],
  ].flatMap(([work, ratios, peer]) =>
    ratios ? [`${work} ${ratios} times as long as with ${peer}`] : [],
  );
  return `On the native backend, ${parts.join(', ')} ([all measurements](docs/performance.md), also of [a language model](docs/performance.md#a-language-model)).`;
}

/** Breaks a text into lines at spaces. */
const wrap = (text: string): string =>
  text.replace(new RegExp(`(.{1,${WIDTH}})(?: |$)`, 'g'), '$1\n').trimEnd();
