/**
 * One page about several runs: final figures, the settings that differ, curves in one
 * chart, answers side by side.
 */
import { greatest, sort } from 'd3-array';
import { questionShape, type Question } from '../../data/question.js';
import type { Interval } from '../../evaluation/bootstrap.js';
import type { Measurement } from '../../evaluation/result.js';
import { parseModelName } from '../../methods/checkpoints.js';
import type { TableCells } from '../../html/cells.js';
import { escapeHtml, markup, markupHtml, type Markup } from '../../html/markup.js';
import { pageHtml, reportScript } from '../../html/page.js';
import { segmentsMarkup } from '../../html/segments.js';
import { KIND_STYLE, SEGMENT_STYLE } from '../../html/styles.js';
import { SMALL_WORLD } from '../../report/chart.js';
import { chartHtml, tableFigureHtml } from '../../report/figures.js';
import { contentsHtml } from '../../report/html.js';
import { decimalsOf, metricInfo } from '../../report/metrics.js';
import { renderSvg } from '../../report/render.js';
import { intervalText, pointsIntervalText } from '../../report/text.js';
import { rewardOptions } from '../../rewards/presets.js';
import { scoreTranscript } from '../../rewards/score.js';
import type { RecordedRun } from '../../rollout/recorded.js';
import { listed } from '../../text/listed.js';
import { comparedChart } from '../run/charts.js';
import { factsOf } from '../run/page.js';
import { answerFigures, finalFigure } from './figures.js';
import type { ComparedRun } from './runs.js';

/** Metrics of training that have a chart, and a column. */
const CURVES = [
  'reward',
  'rewards/outcome',
  'turns',
  'decomposition_ratio',
  'kl',
  'entropy',
  'completions/mean_length',
];
/** Questions that are shown side by side. */
const MOST_QUESTIONS = 12;

const STYLES = `${KIND_STYLE}${SEGMENT_STYLE}
.curves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 0 1.5rem; }
.curves figure { min-width: 0; }
.gold { color: var(--soft); margin: 0 0 .4rem; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 0 1.5rem; }
.sides > div { min-width: 0; }
details.question { margin: .3rem 0; }
details.question > summary { font-size: .95rem; width: auto; }
`;

interface Section {
  id: string;
  text: string;
  html: string;
}

/**
 * The page.
 * @param questions whose texts and right answers are shown where a file of answers tells
 * only ids
 */
export async function compareHtml(
  runs: readonly ComparedRun[],
  questions: readonly Question[] = [],
): Promise<string> {
  const title = `Compared: ${listed(runs.map(({ name }) => name))}`;
  const sections = [
    figuresSection(runs),
    settingsSection(runs),
    await curvesSection(runs),
    questionsSection(runs, new Map(questions.map((question) => [question.id, question]))),
  ].filter((section) => section !== null);
  const headings = sections.map(({ id, text }) => ({ id, text, level: 2 }));
  const body = [
    '<a class="skip" href="#content">Skip to the content</a>',
    `<div class="layout">${contentsHtml(headings)}<main id="content"><h1>${escapeHtml(title)}</h1>`,
    ...sections.map(({ id, text, html }) => `<h2 id="${id}">${text}</h2>${html}`),
    '</main></div>',
  ].join('\n');
  return pageHtml({
    title,
    body,
    styles: STYLES,
    description: `${title}: figures, settings, curves and answers.`,
    scripts: [await reportScript({ hasCharts: sections.some(({ id }) => id === 'curves') })],
  });
}

/**
 * A table with a row for each run, without columns in which nothing stands; nothing where
 * that leaves no column.
 */
function runsTable(
  caption: string,
  id: string,
  runs: readonly ComparedRun[],
  columns: readonly (readonly [title: string, of: (run: ComparedRun) => string | undefined])[],
): string {
  const filled = columns.filter(([, of]) => runs.some((run) => of(run) !== undefined));
  if (filled.length === 0) return '';
  const cells: TableCells = {
    caption,
    columns: ['Run', ...filled.map(([name]) => name)],
    rows: runs.map((run) => [run.name, ...filled.map(([, of]) => of(run) ?? '–')]),
  };
  return tableFigureHtml(cells, id);
}

type Figure = Interval & { method: string; metric: string };

/** A run's figure of a metric with its interval, as a cell. */
const cellOf =
  (figures: readonly Figure[], metric: string) =>
  ({ name }: ComparedRun): string | undefined => {
    const own = figures.find((row) => row.method === name && row.metric === metric);
    return own && intervalText(own, decimalsOf(metric, own.value));
  };

/**
 * The run that is farthest from the first one in exact match, else the outcomes of all in
 * training, in a sentence.
 */
function findingOf(
  found: ReturnType<typeof answerFigures>,
  differences: readonly (Figure & { against: string })[],
  ends: readonly Figure[],
): string {
  const exact = differences.filter(({ metric }) => metric === 'em');
  const farthest = greatest(exact, (a, b) => Math.abs(a.value) - Math.abs(b.value));
  if (found && farthest)
    return `Exact match of ${farthest.method} against ${farthest.against}: ${pointsIntervalText(farthest)} points on ${found.numQuestions} questions that both have answered.`;
  const outcomes = ends.filter(({ metric }) => metric === 'rewards/outcome');
  if (outcomes.length === 0) return '';
  const each = sort(outcomes, ({ value }) => -value).map(
    (own) => `${own.method} ${intervalText(own)}`,
  );
  return `Outcome reward at the end of training: ${listed(each)}.`;
}

/**
 * What the answers and the last steps of training come to, and who is ahead by how much.
 */
function figuresSection(runs: readonly ComparedRun[]): Section {
  const found = answerFigures(runs);
  const answered = runs.filter(({ answers }) => answers.length > 0);
  const differences = found?.contrasts.filter(({ kind }) => kind === 'difference') ?? [];
  const ends = runs.flatMap((run) =>
    CURVES.flatMap((metric) => {
      const figure = finalFigure(run, metric);
      return figure ? [{ ...figure, method: run.name, metric }] : [];
    }),
  );
  const metrics = [...new Set(found?.rows.map(({ metric }) => metric))];
  const columns = metrics.flatMap((metric) => {
    const { title } = metricInfo(metric);
    return [
      [`${title} · mean`, cellOf(found!.rows, metric)] as const,
      [`${title} · minus ${answered[0].name}`, cellOf(differences, metric)] as const,
    ];
  });
  const numLast = [...new Set(ends.map(({ numSteps }) => numSteps))].join(' or ');
  const parts = [
    markupHtml(markup('p', findingOf(found, differences, ends))),
    answered.length > 0 && !found
      ? '<p>No question was answered by all runs, so that their answers are not compared.</p>'
      : runsTable(
          `Answers to the ${found?.numQuestions} questions that all runs with answers have answered; intervals of 95 % by a bootstrap over the questions, differences paired by question.`,
          'answers',
          answered,
          columns,
        ),
    runsTable(
      `The end of training: means of the last ${numLast} steps; intervals of 95 % by a bootstrap over these steps. Rewards compare only where their settings are the same.`,
      'training',
      runs.filter(({ steps }) => steps.length > 0),
      CURVES.map((metric) => [metricInfo(metric).title, cellOf(ends, metric)] as const),
    ),
  ];
  return { id: 'figures', text: 'Final figures', html: parts.join('\n') };
}

/** The settings of which the runs have different ones. */
function settingsSection(runs: readonly ComparedRun[]): Section {
  const known = runs.filter(({ settings }) => Object.keys(settings).length > 0);
  const names = [...new Set(known.flatMap(({ settings }) => Object.keys(settings)))];
  const differing = names.filter(
    (name) => new Set(known.map(({ settings }) => settings[name])).size > 1,
  );
  const unknown = runs.filter((run) => !known.includes(run) || !('method' in run.settings));
  const table = runsTable(
    'Settings that differ; all others are the same.',
    'settings',
    known,
    differing.map((name) => [name, ({ settings }: ComparedRun) => settings[name]] as const),
  );
  const note =
    unknown.length > 0
      ? `<p>Nothing tells the settings of ${escapeHtml(listed(unknown.map(({ name }) => name)))}: a training writes them when it is finished.</p>`
      : '';
  const html = table || (known.length > 1 ? '<p>All settings are the same.</p>' : '');
  return { id: 'settings', text: 'Settings that differ', html: html + note };
}

async function curvesSection(runs: readonly ComparedRun[]): Promise<Section | null> {
  const isSmall = runs.some(
    ({ settings: { model } }) => model !== undefined && parseModelName(model),
  );
  const figures = CURVES.flatMap((metric) => {
    const chart = comparedChart(metric, runs, isSmall ? SMALL_WORLD : undefined);
    return chart ? [{ name: metric.replaceAll(/\W+/g, '-'), chart }] : [];
  }).map(async ({ name, chart }) =>
    chartHtml({ id: `curve-${name}`, name, spec: chart.spec, svg: await renderSvg(chart) }),
  );
  if (figures.length === 0) return null;
  const html = `<div class="curves">${(await Promise.all(figures)).join('\n')}</div>`;
  return { id: 'curves', text: 'Curves', html };
}

/** What a run did with a question. */
interface Side {
  name: string;
  isRight: boolean;
  facts: string[];
  run: RecordedRun;
}

/**
 * The newest trajectory, else the answer, of each question that the run was asked, by
 * question.
 */
function sidesOf(
  { name, trajectories, answers }: ComparedRun,
  known: ReadonlyMap<string, Question>,
): Map<string, Side> {
  const told = answers.map((answer) => answerAsRun(answer, known.get(answer.questionId)));
  const matches = new Map(answers.map(({ questionId, em }) => [questionId, em]));
  return new Map(
    [...told, ...trajectories].map((run): [string, Side] => {
      const match = matches.get(run.id) ?? scoreTranscript(run, rewardOptions('paper')).exactMatch;
      const isRight = match === 1;
      const step = run.step === undefined || run.step === null ? [] : [`step ${run.step}`];
      const right = run.rewards?.outcome === undefined ? [isRight ? '✓ right' : '✗ wrong'] : [];
      return [run.id, { name, isRight, run, facts: [...step, ...right, ...factsOf(run)] }];
    }),
  );
}

/** An answer as far as its file tells it: what was searched and what was answered. */
function answerAsRun(
  { questionId: id, searches, answer, type }: Measurement,
  known?: Question,
): RecordedRun {
  const { question, goldenAnswers = [], metadata } = known ?? {};
  const graph = metadata?.graph;
  const text = [
    ...searches.map((queries) => `<search> ${queries.join(' ## ')} </search>`),
    ...(answer === null ? [] : [`<answer> ${answer} </answer>`]),
  ].join('');
  const searchTurns = searches.map((queries) => ({ queries, results: [] }));
  const shape = graph?.length ? questionShape(graph) : undefined;
  return {
    id,
    question,
    goldenAnswers,
    type,
    graph,
    shape,
    searchTurns,
    benchmark: undefined,
    segments: [{ kind: 'policy', text }],
  };
}

/**
 * Questions that several runs were asked, first those of which one has the right answer
 * and another has not.
 */
function questionsSection(
  runs: readonly ComparedRun[],
  known: ReadonlyMap<string, Question>,
): Section | null {
  const sides = runs.map((run) => sidesOf(run, known));
  const ids = [...new Set(sides.flatMap((own) => [...own.keys()]))];
  const asked = ids
    .map((id) => sides.flatMap((own) => own.get(id) ?? []))
    .filter((own) => own.length >= Math.min(2, runs.length));
  if (asked.length === 0) return null;
  const areOfOneMind = (own: readonly Side[]): number =>
    Number(new Set(own.map(({ isRight }) => isRight)).size === 1);
  const shown = asked
    .toSorted((a, b) => areOfOneMind(a) - areOfOneMind(b))
    .slice(0, MOST_QUESTIONS);
  const numSplit = asked.filter((own) => areOfOneMind(own) === 0).length;
  const intro = `<p>${asked.length} questions were asked in several runs, as each saw them last; ${numSplit} of them one answers right and another wrong. Shown are ${shown.length}, those first.</p>`;
  return {
    id: 'questions',
    text: 'Questions side by side',
    html: intro + shown.map(questionMarkup).map(markupHtml).join('\n'),
  };
}

function questionMarkup(sides: readonly Side[]): Markup {
  const { question, id, goldenAnswers } = sides[0].run;
  const verdicts = sides.map(({ name, isRight }) => `${name} ${isRight ? '✓' : '✗'}`);
  return markup(
    'details.question',
    markup('summary', [question ?? id, ...verdicts].join(' · ')),
    goldenAnswers.length > 0 && markup('p.gold', `Right would be: ${goldenAnswers.join(' / ')}`),
    markup(
      'div.sides',
      sides.map(({ name, facts, run }) =>
        markup(
          'div',
          markup('h3', name),
          markup('p.gold', facts.join(' · ')),
          segmentsMarkup(run.segments, run.searchTurns ?? []),
        ),
      ),
    ),
  );
}
