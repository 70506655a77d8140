/** Compares runs on one page: final figures, differing settings, curves, questions. */
import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { greatest, group, rollup, sort } from 'd3-array';
import { dataSetFiles, readQuestions } from '../../data/flashrag.js';
import { createQuestionFinder, type Question } from '../../data/question.js';
import type { Interval } from '../../evaluation/estimate.js';
import { questionKey, type Measurement } from '../../evaluation/measurement.js';
import { markup, type Content, type Markup } from '../../report/markup.js';
import { segmentsMarkup } from '../../report/segments.js';
import { intervalText, pointsIntervalText } from '../../report/text.js';
import { metricDecimals, metricInfo } from '../../report/titles.js';
import type { Trajectory } from '../../rollout/trajectory.js';
import { exactMatch } from '../../text/answer-match.js';
import { formatList, plural } from '../../text/english.js';
import { tableFigure } from '../figures.js';
import { curveCharts, type CurvesChart } from './curves.js';
import { sectionsPage } from './frame.js';
import { rolloutFacts } from './rollouts.js';
import { sectionMarkup } from '../sections.js';
import {
  FINAL_METRICS,
  answerFigures,
  finalFigure,
  readComparedRuns,
  type ComparedRun,
  type RunSource,
} from '../../report/compared-runs.js';

/** Maximum points per curve; longer curves are averaged. */
const MAX_POINTS = 60;
const MAX_QUESTIONS = 12;
/** The benchmark of an answer that records none. */
const UNKNOWN = 'unknown';

/**
 * @param questions supply texts and gold answers if answers record only ids
 * @param data the data folder of the questions; absent for the small world
 */
export async function compareHtml(
  runs: readonly ComparedRun[],
  { questions = [], data }: { questions?: readonly Question[]; data?: string } = {},
): Promise<string> {
  const on = data ? ` on ${data}` : '';
  const title = `Compared: ${formatList(runs.map(({ name }) => name))}${on}`;
  const model = runs.map(({ settings }) => settings.model).find((name) => name !== undefined);
  const curves = await curveCharts(metricCharts(runs, { model, data }), MAX_POINTS);
  const find = createQuestionFinder(questions);
  const sections = [
    { id: 'figures', text: 'Final figures', content: figuresContent(runs) },
    { id: 'settings', text: 'Settings', content: settingsContent(runs) },
    { id: 'curves', text: 'Training curves', content: curves },
    { id: 'questions', text: 'Questions', content: questionsContent(runs, find) },
  ].filter(({ content }) => content !== null);
  return sectionsPage({
    title,
    description: `${title}: figures, settings, curves and answers.`,
    headings: sections,
    main: sections.map(sectionMarkup),
  });
}

/**
 * Reads runs and their questions for the page.
 * @param data the data set of the answers. Default: the one that a run has recorded, if
 * it exists, else the small world
 */
export async function readComparison(
  sources: readonly RunSource[],
  { data }: { data?: string } = {},
): Promise<{ runs: ComparedRun[]; questions: Question[]; data?: string }> {
  const runs = await readComparedRuns(sources);
  const folder = data ?? runs.map((run) => run.data).find((path) => path && existsSync(path));
  const read = (await Promise.all(dataSetFiles(folder).questions.map(readQuestions))).flat();
  const benchmark = folder === undefined ? undefined : basename(resolve(folder));
  const questions = read.map(({ metadata, ...question }) => ({
    ...question,
    metadata: { benchmark, ...metadata },
  }));
  return { runs, questions, data: benchmark };
}

type Field = readonly [title: string, value: (run: ComparedRun) => string | undefined];

/** A table of fields by run, with the longer dimension as rows; null without values. */
function comparedTable(
  { id, label, caption }: { id: string; label: string; caption: string },
  runs: readonly ComparedRun[],
  fields: readonly Field[],
): Content {
  const filled = fields.filter(([, value]) => runs.some((run) => value(run) !== undefined));
  if (filled.length === 0) return null;
  const names = runs.map(({ name }) => name);
  const titles = filled.map(([title]) => title);
  const cells =
    titles.length > names.length
      ? {
          columns: [label, ...names],
          rows: filled.map(([title, value]) => [title, ...runs.map((run) => value(run) ?? '–')]),
        }
      : {
          columns: ['Run', ...titles],
          rows: runs.map((run) => [run.name, ...filled.map(([, value]) => value(run) ?? '–')]),
        };
  return tableFigure({ caption, ...cells }, id);
}

type Figure = Interval & { method: string; metric: string };

function figuresTable(
  id: string,
  caption: string,
  runs: readonly ComparedRun[],
  figures: readonly Figure[],
): Content {
  const metrics = new Set(figures.map(({ metric }) => metric));
  const fields = [...metrics].map((metric): Field => {
    const cell = ({ name }: ComparedRun): string | undefined => {
      const figure = figures.find((row) => row.method === name && row.metric === metric);
      return figure && intervalText(figure, metricDecimals(metric, figure.value));
    };
    return [metricInfo(metric).title, cell];
  });
  return comparedTable({ id, caption, label: 'Metric' }, runs, fields);
}

/** Figures of answers and last training steps, after a sentence on the result. */
function figuresContent(runs: readonly ComparedRun[]): Content {
  const answers = answerFigures(runs);
  const answered = runs.filter((run) => run.answers.length > 0);
  const differences = answers?.contrasts.filter(({ kind }) => kind === 'difference') ?? [];
  const ends = runs.flatMap((run) =>
    FINAL_METRICS.flatMap((metric) => {
      const figure = finalFigure(run, metric);
      return figure ? [{ ...figure, method: run.name, metric }] : [];
    }),
  );
  const numQuestions = answers?.numQuestions ?? 0;
  const numSteps = [...new Set(ends.map((end) => end.numSteps))].join(' or ');
  return [
    markup('p', resultSentence(differences, ends, numQuestions)),
    answered.length > 0 &&
      !answers &&
      markup('p', 'No question was answered by all runs, so answers are not compared.'),
    figuresTable(
      'answers',
      `Answers to the ${numQuestions} questions that all runs answered, with 95\u00a0% bootstrap intervals over questions.`,
      answered,
      answers?.rows ?? [],
    ),
    figuresTable(
      'differences',
      `Differences from ${answered[0]?.name}, paired by question.`,
      answered.slice(1),
      differences,
    ),
    comparedTable(
      { id: 'costs', label: 'Cost', caption: 'Average cost of an answer.' },
      answered,
      Object.keys(answered[0]?.costs ?? {}).map(
        (title): Field => [title, ({ costs }) => costs?.[title]],
      ),
    ),
    figuresTable(
      'training',
      `End of training: means of the last ${numSteps} steps, with 95\u00a0% bootstrap intervals over steps. Rewards are comparable only with the same reward settings.`,
      runs.filter(({ steps }) => steps.length > 0),
      ends,
    ),
  ];
}

/** States the largest difference in exact match, or else all final outcome rewards. */
function resultSentence(
  differences: readonly (Figure & { against: string })[],
  ends: readonly Figure[],
  numQuestions: number,
): string {
  const exact = differences.filter(({ metric }) => metric === 'em');
  const largest = greatest(exact, (a, b) => Math.abs(a.value) - Math.abs(b.value));
  if (largest)
    return `Exact match of ${largest.method} against ${largest.against}: ${pointsIntervalText(largest)} points on ${numQuestions} questions.`;
  const outcomes = ends.filter(({ metric }) => metric === 'rewards/outcome');
  if (outcomes.length === 0) return '';
  const texts = sort(outcomes, ({ value }) => -value).map(
    (end) => `${end.method} ${intervalText(end)}`,
  );
  return `Outcome reward at the end of training: ${formatList(texts)}.`;
}

function settingsContent(runs: readonly ComparedRun[]): Content {
  const recorded = runs.filter(({ settings }) => Object.keys(settings).length > 0);
  const names = new Set(recorded.flatMap(({ settings }) => Object.keys(settings)));
  const differing = [...names].filter(
    (name) => new Set(recorded.map(({ settings }) => settings[name])).size > 1,
  );
  const table = comparedTable(
    {
      id: 'settings',
      label: 'Setting',
      caption: 'Settings that differ; all others are the same. A dash: the preset’s.',
    },
    recorded,
    differing.map((name): Field => [name, ({ settings }) => settings[name]]),
  );
  const same = recorded.length > 1 ? markup('p', 'All settings are the same.') : null;
  const unknown = runs.filter(({ settings }) => !('method' in settings)).map(({ name }) => name);
  const note = `Settings of ${formatList(unknown)} are unknown: training writes them when it ends.`;
  return unknown.length > 0 ? [table ?? same, markup('p', note)] : (table ?? same);
}

export const metricCharts = (
  runs: readonly Pick<ComparedRun, 'name' | 'steps'>[],
  options: Pick<CurvesChart, 'model' | 'data' | 'highlight'>,
): CurvesChart[] =>
  FINAL_METRICS.map((metric) => ({
    ...metricInfo(metric),
    ...options,
    id: metric.replaceAll(/\W+/g, '-'),
    curves: runs.map(({ name, steps }) => ({ name, metric, steps })),
  }));

/** A run's trajectory for a question. */
interface Side {
  name: string;
  isCorrect: boolean;
  trajectory: Trajectory;
}

/** Values by key, where a key has only one. */
function onlyValues(
  pairs: Iterable<readonly [key: string, value: string | undefined]>,
): Map<string, string> {
  const values = rollup(
    [...pairs].filter(([, value]) => value),
    (items) => [...new Set(items.map(([, value]) => value!))],
    ([key]) => key,
  );
  return new Map([...values].flatMap(([key, [value, other]]) => (other ? [] : [[key, value]])));
}

/**
 * Keys of questions by benchmark, id and text. What a recording lacks is taken from the
 * others with its id, if they agree.
 */
function questionKeys(
  recorded: readonly Trajectory[],
): Record<'ofId' | 'ofText', (one: Trajectory) => string> {
  const named = ({ metadata }: Trajectory): string | undefined =>
    metadata?.benchmark === UNKNOWN ? undefined : metadata?.benchmark;
  const benchmarks = onlyValues(recorded.map((one) => [one.questionId, named(one)]));
  const ofId = (one: Trajectory): string =>
    questionKey({ ...one, benchmark: named(one) ?? benchmarks.get(one.questionId) });
  const texts = onlyValues(recorded.map((one) => [ofId(one), one.question]));
  const ofText = (one: Trajectory): string =>
    JSON.stringify([ofId(one), one.question || texts.get(ofId(one))]);
  return { ofId, ofText };
}

/** An answer as a trajectory: its queries, without results. */
function answerTrajectory(
  answer: Measurement,
  find: ReturnType<typeof createQuestionFinder>,
): Trajectory {
  const { questionId, benchmark } = answer;
  const id = { id: questionId, benchmark: benchmark === UNKNOWN ? undefined : benchmark };
  const { question = '', goldenAnswers = [] } = find({ ...id, question: answer.question }) ?? {};
  const searches = answer.searches.map((queries) => `<search> ${queries.join(' ## ')} </search>`);
  const end = answer.answer === null ? '' : `<answer> ${answer.answer} </answer>`;
  return {
    ...answer,
    question: answer.question ?? question,
    goldenAnswers,
    metadata: { benchmark },
    segments: [{ kind: 'policy', text: searches.join('') + end, tokenIds: [] }],
    searchTurns: answer.searches.map((queries) => ({ queries, results: [] })),
    finish: null,
  };
}

/** The questions of several runs, starting with those on which runs disagree. */
function questionsContent(
  runs: readonly ComparedRun[],
  find: ReturnType<typeof createQuestionFinder>,
): Content {
  const answered = runs.map(({ answers }) => answers.map((one) => answerTrajectory(one, find)));
  const recorded = runs.map(({ trajectories }, i) => [...answered[i], ...trajectories]);
  const { ofId, ofText: key } = questionKeys(recorded.flat());
  // By question, the run's newest trajectory, or what its answer tells of one.
  const byRun = runs.map(({ name, answers }, i) => {
    const matches = new Map(answered[i].map((one, k) => [key(one), answers[k].em]));
    return new Map(
      recorded[i].map((trajectory): [string, Side] => {
        const match =
          matches.get(key(trajectory)) ?? exactMatch(trajectory.answer, trajectory.goldenAnswers);
        return [key(trajectory), { name, isCorrect: match === 1, trajectory }];
      }),
    );
  });
  const keys = new Set(byRun.flatMap((sides) => [...sides.keys()]));
  const asked = [...keys].map((one) => byRun.flatMap((sides) => sides.get(one) ?? []));
  const isShared = ({ length }: readonly Side[]): boolean => length >= Math.min(2, runs.length);
  const questions = asked.filter(isShared);
  const byId = group(asked, ([{ trajectory }]) => ofId(trajectory));
  const numApart = [...byId.values()].filter(
    (all) => all.length > 1 && !all.every(isShared),
  ).length;
  const apart =
    numApart > 0 &&
    markup('p', `Not compared: ${plural(numApart, 'id')} with different questions.`);
  if (questions.length === 0) return apart || null;
  const isSplit = (sides: readonly Side[]): boolean =>
    new Set(sides.map(({ isCorrect }) => isCorrect)).size > 1;
  const shown = sort(questions, (sides) => Number(!isSplit(sides))).slice(0, MAX_QUESTIONS);
  const numSplit = questions.filter(isSplit).length;
  const intro = `${plural(questions.length, 'question')} asked in several runs; on ${numSplit} of them, some runs are right and others wrong. The first ${shown.length}:`;
  return [markup('p', intro), apart, shown.map(questionMarkup)];
}

function questionMarkup(sides: readonly Side[]): Markup {
  const { question, questionId, goldenAnswers } = sides[0].trajectory;
  const verdicts = sides.map(({ name, isCorrect }) => `${name} ${isCorrect ? '✓' : '✗'}`);
  const columns = sides.map(({ name, isCorrect, trajectory }) => {
    const { step, searchTurns } = trajectory;
    const facts = rolloutFacts(trajectory, isCorrect);
    return markup(
      'div',
      markup('h3', name),
      markup('p.gold', [...(step === undefined ? [] : [`step ${step}`]), ...facts].join(' · ')),
      segmentsMarkup(trajectory, searchTurns),
    );
  });
  return markup(
    'details.question',
    markup('summary', [question || questionId, ...verdicts].join(' · ')),
    goldenAnswers.length > 0 && markup('p.gold', `Gold answer: ${goldenAnswers.join(' / ')}`),
    markup('div.sides', columns),
  );
}
