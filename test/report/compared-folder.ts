/** Trainings and answers to compare. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { range } from 'd3-array';
import {
  parseSources,
  readComparedRuns,
  type ComparedRun,
} from '../../lib/report/compared-runs.js';
import { result } from '../experiments/synthetic.js';
import { temporaryFolder } from '../folder.js';
import { INJECTION } from '../pages/viewer/synthetic.js';
import { RUN, writeStep } from '../training/synthetic-run.js';

export const readAll = (...texts: string[]): Promise<ComparedRun[]> =>
  readComparedRuns(parseSources(texts));

/**
 * A folder with two trainings of six steps: the reward of `a` is always 0.2, that of `b`
 * is the step.
 */
export function comparedFolder() {
  const root = temporaryFolder();
  const inRoot = (...parts: string[]): string => path.join(root, ...parts);
  const writeLines = (file: string, lines: readonly object[]): void =>
    writeFileSync(inRoot(file), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const writeTraining = (
    name: string,
    config: object,
    metrics: (step: number) => Record<string, number>,
  ): void => {
    for (let step = 0; step < 6; step++) writeStep(inRoot(name), step, metrics(step));
    mkdirSync(inRoot(name, 'adapter'));
    const file = inRoot(name, 'adapter', 'train_config.json');
    writeFileSync(file, JSON.stringify({ ...RUN.config, ...config }));
  };
  writeTraining('a', { seed: 1 }, () => ({ reward: 0.2 }));
  writeTraining('b', { seed: 2, rewards: { preset: 'paper', lambdaD: 0.5 } }, (reward) => {
    return { reward, 'rewards/mine': 1 };
  });

  /**
   * Answers of two runs. The second is right on the first half of the common questions,
   * and has one more question.
   */
  const writeAnswers = (): string[] => {
    const answers = (count: number, fields: (i: number) => object): object[] =>
      range(count).map((i) => result({ questionId: `q-${i}`, coverage: NaN, ...fields(i) }));
    const wrong = answers(20, () => ({ em: 0, f1: 0, answer: INJECTION }));
    const searches = [['Town', 'River']];
    const half = answers(21, (i) => ({ em: i < 10 ? 1 : 0, f1: 0.5, searches }));
    writeLines('one.jsonl', wrong);
    writeLines('two.jsonl', half);
    return [inRoot('one.jsonl'), inRoot('two.jsonl')];
  };
  return { inRoot, writeLines, writeAnswers };
}
