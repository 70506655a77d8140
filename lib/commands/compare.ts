/** `parallelsearch compare RUN...`: compares runs in a table and on one page. */
import { Command } from 'commander';
import { group } from 'd3-array';
import { writeFileSafely } from '../io/files.js';
import { compareHtml, readComparison } from '../pages/runs/comparison-page.js';
import {
  fewQuestionsWarning,
  finalFigures,
  parseSources,
  type FinalFigure,
  type RunSource,
} from '../report/compared-runs.js';
import { figureText, intervalText } from '../report/text.js';
import { metricDecimals, metricInfo } from '../report/titles.js';
import { formatList, plural } from '../text/english.js';
import { log } from './common/cli-utils.js';
import { formatTable } from './common/tables.js';

interface CompareSettings {
  out: string;
  data?: string;
  json?: boolean;
}

/** What the figures of one metric are means over; short runs have fewer last steps. */
function numbersText(sides: readonly FinalFigure[]): string {
  const counts = [...new Set(sides.map(({ n }) => n))];
  return sides[0].source === 'answers'
    ? plural(counts[0], 'question')
    : `last ${counts.join(' or ')} steps`;
}

const differenceText = ({ metric, figure, difference }: FinalFigure): string =>
  intervalText(difference, metricDecimals(metric, figure.value));

/** One row per metric, with the figures of two runs and their difference. */
function pairTable(figures: readonly FinalFigure[], [first, second]: readonly string[]): string {
  const parts = [...group(figures, ({ source }) => source).values()].map((part) =>
    [...group(part, ({ metric }) => metric)].map(([metric, sides]) => {
      const texts = [first, second].map((name) => {
        const value = sides.find(({ run }) => run === name)?.figure.value;
        return figureText(value, metricDecimals(metric, value));
      });
      const { title } = metricInfo(metric);
      return [title, numbersText(sides), ...texts, differenceText(sides.at(-1)!)];
    }),
  );
  const head = ['metric', 'over', first, second, `${second} − ${first} [95 %]`];
  return formatTable(head, ...parts);
}

/** Metrics in a row of {@link figuresTable}; the first is followed by its difference. */
const CHIEF_METRICS = {
  answers: ['em', 'f1', 'model_calls', 'decomposition_ratio'],
  training: ['rewards/outcome', 'reward', 'turns', 'decomposition_ratio'],
} as const;

/**
 * One row per run: the chief metrics, and the difference in the first of them.
 * @param part the figures of one source
 */
function figuresTable(part: readonly FinalFigure[]): string {
  const { source } = part[0];
  const metrics = CHIEF_METRICS[source].filter((name) =>
    part.some(({ metric }) => metric === name),
  );
  const rows = [...group(part, ({ run }) => run)].map(([run, sides]) => {
    const texts = metrics.map((metric) => {
      const value = sides.find((side) => side.metric === metric)?.figure.value;
      return figureText(value, metricDecimals(metric, value));
    });
    const chief = sides.find(({ metric }) => metric === metrics[0]);
    return [run, numbersText([sides[0]]), ...texts, chief ? differenceText(chief) : '–'];
  });
  const titles = metrics.map((metric) => metricInfo(metric).title);
  return formatTable(['run', 'over', ...titles, `${titles[0]} − first run [95 %]`], rows);
}

function haveOtherRewards(settings: readonly Readonly<Record<string, string>>[]): boolean {
  const trainings = settings.filter((one) => 'method' in one);
  const rewards = trainings.map((one) =>
    JSON.stringify(Object.entries(one).filter(([name]) => /^rewards?\b/.test(name))),
  );
  return new Set(rewards).size > 1;
}

/**
 * Writes the page and prints the final figures: for two runs every metric with its
 * difference and 95 % interval, for more runs one row each.
 * @param data the data set of the answers. Default: the runs', or the small world
 */
export async function runCompare(
  sources: readonly RunSource[],
  { out, data, json = false }: CompareSettings,
): Promise<void> {
  const { runs, ...asked } = await readComparison(sources, { data });
  await writeFileSafely(out, await compareHtml(runs, asked));
  const figures = finalFigures(runs);
  const names = [...new Set(figures.map(({ run }) => run))];
  const tables = (): string[] =>
    names.length === 2
      ? [pairTable(figures, names)]
      : [...group(figures, ({ source }) => source).values()].map(figuresTable);
  const text = json
    ? figures.map((figure) => `${JSON.stringify(figure)}\n`).join('')
    : tables()
        .map((table) => `${table}\n`)
        .join('\n');
  process.stdout.write(text);
  const trained = runs.filter(({ steps }) => steps.length > 0);
  if (haveOtherRewards(trained.map(({ settings }) => settings)))
    log('Reward settings differ: compare the outcome reward, not the reward.');
  const bare = runs.filter(({ name }) => !names.includes(name));
  const answered = runs.filter(({ answers }) => answers.length > 0);
  if (answered.length > 0 && !figures.some(({ source }) => source === 'answers'))
    log(
      `No figures of answers: ${formatList(answered.map(({ name }) => name))} share no question.`,
    );
  else if (bare.length > 0)
    log(
      `No figures of ${formatList(bare.map(({ name }) => name))}: transcripts have none. Score them with \`score\`, or compare answers or runs.`,
    );
  const numShared = figures.find(({ source }) => source === 'answers')?.n ?? Infinity;
  const few = fewQuestionsWarning(numShared);
  if (few) log(few);
  const partial = answered.filter(({ answers }) => answers.length > numShared);
  if (partial.length > 0)
    log(
      `Left out answers to questions that not all runs answered: ${formatList(partial.map(({ name, answers }) => `${answers.length - numShared} of ${name}`))}.`,
    );
  log(`${plural(runs.length, 'run')} compared: ${out}`);
}

export function compareCommand(): Command {
  return new Command('compare')
    .description(
      'compare runs: prints the final figures with their differences, and writes one HTML file that also has settings, curves and answers',
    )
    .argument(
      '<runs...>',
      'output folders of `train`, files of `evaluate --out` or --trajectories, or NAME=PATH; paths with the same name are one run',
    )
    .option('-o, --out <file>', 'output file', 'compare.html')
    .option(
      '--data <folder>',
      'data set with the questions (default: the runs’ data, or the small world)',
    )
    .option('--json', 'print JSON Lines, one per metric and run, instead of the table')
    .action((texts: string[], settings: CompareSettings) =>
      runCompare(parseSources(texts), settings),
    );
}
