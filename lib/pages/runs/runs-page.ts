/** A page about a folder of runs: a table to sort and select from, curves, rollouts. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { sort, sum } from 'd3-array';
import { sha256 } from '../../io/provenance.js';
import { errorText } from '../../io/system-errors.js';
import { METRICS_FILE } from '../../policy/folders/files.js';
import { markup, type Content, type Markup } from '../../report/markup.js';
import { intervalText, figureText } from '../../report/text.js';
import { metricDecimals, metricInfo } from '../../report/titles.js';
import { countText } from '../../text/english.js';
import { metricCharts } from './comparison-page.js';
import {
  FINAL_METRICS,
  finalFigure,
  readTraining,
  type ComparedRun,
} from '../../report/compared-runs.js';
import { scrollable } from '../figures.js';
import { dataScript } from '../page.js';
import { curveCharts } from './curves.js';
import { readRollouts, runVersion, sampleSteps } from '../../training/run-folder.js';
import { liveMarkup, sectionsPage } from './frame.js';
import { rolloutSlider, type SteppedRollouts } from './rollouts.js';
import { sectionMarkup } from '../sections.js';

/** A run in a folder of runs, named by its path in it. */
interface ListedRun extends Pick<ComparedRun, 'name' | 'steps' | 'settings'> {
  folder: string;
}

const SECTIONS = [
  { id: 'runs', text: 'Runs' },
  { id: 'curves', text: 'Curves' },
  { id: 'settings', text: 'Settings that differ' },
  { id: 'rollouts', text: 'Rollouts' },
] as const;

/** Maximum points per chart and per curve; longer curves are averaged. */
const [CHART_POINTS, MIN_POINTS, MAX_POINTS] = [1200, 15, 60];
/** Initially selected runs: all, or the newest if there are many. */
const [MAX_CHOSEN, NUM_NEWEST] = [6, 3];
/** Maximum number of columns for settings that differ. */
const MAX_SETTINGS = 4;
/** Steps and runs whose rollouts a standalone page carries. */
const [CARRIED_STEPS, CARRIED_RUNS] = [8, 12];

/** The run folders in a folder, newest first, by name. @throws Error if there are none */
export function findRuns(root: string): Map<string, string> {
  const entries = existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }) : [];
  const files = entries
    .filter((file) => basename(file) === METRICS_FILE)
    .map((file) => join(root, file));
  if (files.length === 0)
    throw new Error(
      `Expected folders of \`train\` in ${root}, but none has a metrics.jsonl. Train one: npx parallelsearch train --out ${join(root, 'first')}`,
    );
  const newest = sort(files.sort(), (file) => -Math.floor(statSync(file).mtimeMs / 1000));
  const name = (folder: string): string =>
    relative(root, folder).split(sep).join('/') || basename(resolve(folder));
  return new Map(newest.map(dirname).map((folder) => [name(folder), folder]));
}

/** Changes with every step of any run. */
export const runsVersion = async (folders: ReadonlyMap<string, string>): Promise<string> =>
  sha256(JSON.stringify(await Promise.all([...folders.values()].map(runVersion)))).slice(0, 12);

/** Reads a part of each run; a damaged one adds a complaint instead. */
const readAll = async <Run extends { name: string }, T>(
  runs: readonly Run[],
  complaints: string[],
  read: (run: Run) => Promise<T>,
): Promise<T[]> => {
  const one = (run: Run): Promise<T[]> =>
    read(run).then(
      (value) => [value],
      (error: unknown) => {
        complaints.push(`${run.name}: ${errorText(error)}`);
        return [];
      },
    );
  return (await Promise.all(runs.map(one))).flat();
};

/** Renders the page; a live one asks its server for updates. */
export async function runsPageHtml(root: string, { isLive = false } = {}): Promise<string> {
  const title = `Training runs: ${basename(resolve(root))}`;
  return sectionsPage({
    title,
    description: 'Final figures, settings, curves and rollouts of training runs.',
    headings: SECTIONS,
    main: await runsContent(root, { isLive }),
    isLive,
  });
}

/** The part of the page that changes. */
export async function runsContent(root: string, { isLive = false } = {}): Promise<Markup> {
  const folders = findRuns(root);
  const version = await runsVersion(folders);
  const complaints: string[] = [];
  const named = [...folders].map(([name, folder]) => ({ name, folder }));
  const runs = await readAll(named, complaints, async (run): Promise<ListedRun> => {
    const { steps, settings } = await readTraining(run.folder);
    return { ...run, steps, settings };
  });
  if (runs.length === 0) throw new Error(complaints[0]);
  const rollouts = await listRollouts(runs, isLive, complaints);
  const rated = runs.filter((run) => finalFigure(run, FINAL_METRICS[0]));
  const chosen = runs.length > MAX_CHOSEN ? rated.slice(0, NUM_NEWEST) : runs;
  const names = chosen.map(({ name }) => name);
  const models = new Set(runs.map(({ settings }) => settings.model));
  const data = runs.find(({ settings }) => settings.data)?.settings.data;
  const place = { model: models.size === 1 ? [...models][0] : undefined, data };
  const numSteps = sum(runs, ({ steps }) => steps.length);
  const numPoints = Math.max(MIN_POINTS, Math.min(MAX_POINTS, CHART_POINTS / runs.length));
  const contents = [
    runsTable(runs, names, isLive),
    await curveCharts(metricCharts(runs, { ...place, highlight: names }), numPoints),
    [
      markup('div', { id: 'settings-table' }),
      dataScript(Object.fromEntries(runs.map(({ name, settings }) => [name, settings])), {
        id: 'settings-data',
      }),
    ],
    rolloutSlider(rollouts),
  ];
  return liveMarkup({ version }, [
    markup('p', { id: 'progress' }, `${runs.length} runs, ${countText(numSteps)} steps.`),
    complaints.map((complaint) => markup('p', `Could not be read: ${complaint}`)),
    SECTIONS.map((section, i) => sectionMarkup({ ...section, content: contents[i] })),
  ]);
}

/** Rollouts that the page carries: a sample, or the newest if it can ask for others. */
const listRollouts = (
  runs: readonly ListedRun[],
  isLive: boolean,
  complaints: string[],
): Promise<SteppedRollouts[]> =>
  readAll(
    runs.slice(0, isLive ? undefined : CARRIED_RUNS),
    complaints,
    async ({ name, folder, steps }) => {
      const sampled = sampleSteps(steps, isLive ? 1 : CARRIED_STEPS);
      const source = `rollouts?run=${encodeURIComponent(name)}&`;
      return {
        name,
        rollouts: await readRollouts(folder, sampled),
        ...(isLive && { live: { steps: steps.map(({ step }) => step), source } }),
      };
    },
  );

/** What a column shows of a run: a text, and for figures the sort key. */
interface Cell {
  text: string;
  value?: number;
  /** An interval, shown on hover. */
  more?: string;
}
type Column = readonly [title: string, cell: (run: ListedRun) => Cell];

/** Settings with a column if runs differ, by title; the caption has the others. */
const COLUMNS = { method: 'Method', model: 'Model', data: 'Data', seed: 'Seed' };

function runsTable(
  runs: readonly ListedRun[],
  chosen: readonly string[],
  isLive: boolean,
): Content {
  const values = (name: string) => new Set(runs.map(({ settings }) => settings[name]));
  const setting = ([name, title]: [string, string]): Column => [
    title,
    ({ settings: { [name]: text = '–' } }) => {
      const isNumber = text !== '' && Number.isFinite(Number(text));
      return { text: basename(text), ...(isNumber && { value: Number(text) }) };
    },
  ];
  const differing = [...new Set(runs.flatMap(({ settings }) => Object.keys(settings)))]
    .filter((name) => !(name in COLUMNS) && values(name).size > 1)
    .map((name): [string, string] => [name, name]);
  const metrics = FINAL_METRICS.map(
    (metric): Column => [
      metricInfo(metric).title,
      (run) => {
        const figure = finalFigure(run, metric);
        if (!figure) return { text: '–' };
        const decimals = metricDecimals(metric, figure.value);
        const { value } = figure;
        return { text: figureText(value, decimals), value, more: intervalText(figure, decimals) };
      },
    ],
  );
  const common = Object.keys(COLUMNS).flatMap((name) => {
    const [value, ...others] = values(name);
    return value === undefined || others.length > 0 ? [] : [`${name} ${basename(value)}`];
  });
  const shared = common.length > 0 ? `; all runs: ${common.join(', ')}` : '';
  const columns: Column[] = [
    ...metrics.filter(([, cell]) => runs.some((run) => cell(run).value !== undefined)),
    ['Steps', ({ steps }) => ({ text: String(steps.length), value: steps.length })],
    ...Object.entries(COLUMNS)
      .filter(([name]) => values(name).size > 1)
      .map(setting),
    ...(differing.length <= MAX_SETTINGS ? differing.map(setting) : []),
  ];
  const row = (run: ListedRun): Markup => {
    const { name } = run;
    const key = encodeURIComponent(name);
    const label = isLive && `Show ${name}`;
    const checked = chosen.includes(name);
    const attributes = { type: 'checkbox', id: `run-${key}`, value: name, checked };
    const box = markup('input', { ...attributes, 'aria-label': label });
    const title = isLive
      ? [box, ' ', markup('a', { href: `run?run=${key}` }, name)]
      : markup('label', box, ` ${name}`);
    const cells = columns.map(([, cell]) => {
      const { text, value, more } = cell(run);
      const isFigure = value !== undefined;
      return markup(
        'td',
        { class: (isFigure || text === '–') && 'figure', title: more, 'data-value': value },
        text,
      );
    });
    return markup('tr', markup('th', { scope: 'row' }, title), cells);
  };
  const button = (title: string) => markup('button', { type: 'button' }, title);
  const head = [
    markup('th', { scope: 'col' }, button('Run')),
    ...columns.map(([title, cell]) => {
      const isFigure = runs.some((run) => cell(run).value !== undefined);
      return markup('th', { scope: 'col', class: isFigure && 'figure' }, button(title));
    }),
  ];
  const intro =
    'Figures are means of the last tenth of the steps, at least five; intervals on hover. Chosen runs stand out in the charts. Rewards are comparable only with the same reward settings.';
  const table = markup(
    'table.sortable',
    { id: 'runs-table' },
    markup('caption', `Final figures and settings${shared}`),
    markup('thead', markup('tr', head)),
    markup('tbody', runs.map(row)),
  );
  const link = markup('a', { id: 'compare', href: 'compare' }, 'Compare the chosen runs');
  return [
    markup('p', intro),
    scrollable('Runs', table, 'div.scroll.window'),
    isLive && markup('p', link, ' on their questions'),
  ];
}
