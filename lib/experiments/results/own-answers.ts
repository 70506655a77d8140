/** The paper's tables for answers of your own. */
import {
  answersInCommon,
  parseMeasurement,
  type Measurement,
} from '../../evaluation/measurement.js';
import { completeMeasures } from '../../evaluation/metrics.js';
import { BENCHMARK_TITLES } from '../../evaluation/selections.js';
import { summariseResults, type SummaryOptions } from '../../evaluation/table.js';
import { readJsonLines } from '../../io/files.js';
import { shortPath } from '../../io/paths.js';
import { createResults, type ReportResults } from '../../report/display.js';

async function readAnswers(file: string): Promise<Measurement[]> {
  const answers: Measurement[] = [];
  const expected = 'answers, as in a file of `evaluate --out`';
  for await (const answer of readJsonLines(file, parseMeasurement, expected)) answers.push(answer);
  return answers;
}

/**
 * The paper's tables for your own answers: figures with intervals per benchmark, subset
 * and metric over the questions that every file answers, and differences from the first
 * file. Metrics that need a dependency graph are left out if a question has none.
 *
 *   const files = { api: 'answers.jsonl', here: 'others.jsonl' };
 *   const { rows, contrasts } = await loadAnswerFiles(files);
 *
 * @throws Error naming the line that is not an answer, or if no question is answered by
 * all
 */
export async function loadAnswerFiles(
  files: Readonly<Record<string, string>>,
  options: SummaryOptions = {},
): Promise<ReportResults> {
  const names = Object.keys(files);
  const runs: Record<string, Measurement[]> = {};
  for (const name of names) runs[name] = await readAnswers(files[name]);
  const results = answersInCommon(runs);
  if (results.length === 0) {
    const counts = names
      .map((name) => `${shortPath(files[name])} has ${runs[name].length}`)
      .join(', ');
    throw new Error(`Expected a question that every file answers, but there is none (${counts}).`);
  }
  const benchmarks = new Set(results.map(({ benchmark }) => benchmark));
  const hasAll = Object.keys(BENCHMARK_TITLES).every((name) => benchmarks.has(name));
  const tidy = summariseResults(results, {
    measures: completeMeasures(results),
    // The average needs all seven benchmarks.
    filter: ({ benchmark }) => benchmark !== 'average' || hasAll,
    pairs: names.slice(1).map((name) => [name, names[0]] as const),
    ...options,
  });
  const summary = `${results.length} answers of ${names.join(', ')} to the same ${results.length / names.length} questions.`;
  return createResults({ ...tidy, finding: '', summary });
}
