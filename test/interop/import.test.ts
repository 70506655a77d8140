/** Other trainers' rollouts are read, scored and written as a run. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { importRollouts, type ImportOptions } from '../../lib/interop/import.js';
import { readTrlRollouts } from '../../lib/interop/trl.js';
import { readVerlRollouts } from '../../lib/interop/verl.js';
import { writeParquet } from '../../lib/io/parquet.js';
import { parseTrajectory } from '../../lib/rollout/recorded.js';
import { groupAdvantages } from '../../lib/training/advantages.js';
import { readSteps } from '../../lib/training/run-folder.js';
import { linesOf } from '../commands/tiny-world.js';
import { folderForEach } from '../folder.js';
import { COMPARISON, SINGLE } from '../training/tiny.js';

const inFolder = folderForEach();
const SEARCH = '<think> both </think>\n<search> Ada Stone ## Bo Reed ## Cy Hill </search>';
const FOUND = '<information>Doc 1(Title: Bo Reed) Bo Reed is a singer born in 1904.</information>';
const RIGHT = `${SEARCH}${FOUND}<think> t </think>\n<answer> Bo Reed </answer>`;
const WRONG = '<think> t </think>\n<answer> Cy Hill </answer>';
/** Right and decomposed in one turn; wrong, well-formed, without a search. */
const SCORES = [1 + 3 * 0.15, 0 - 0.35 + 0.1].map(Math.fround);
const PROMPT = `user\nAnswer. Question: ${COMPARISON.question}\nassistant\n`;
const TRUTH = { target: COMPARISON.goldenAnswers, shape: 'parallelizable', id: COMPARISON.id };

let recorded: string;
let options: ImportOptions;
beforeEach(() => {
  recorded = inFolder('recorded');
  mkdirSync(recorded);
  options = {
    folder: inFolder('run'),
    questions: [COMPARISON, SINGLE],
    method: 'parallelsearch',
    trainer: 'verl',
  };
});

const line = (output: string, score: number | null, more: object = {}): string =>
  `${JSON.stringify({ input: PROMPT, output, gts: TRUTH, score, step: 1, ...more })}\n`;
const writeStep = (step: number, lines: readonly string[]): void =>
  writeFileSync(join(recorded, `${step}.jsonl`), lines.join(''));

describe('rollouts of verl', () => {
  it('become trajectories with rewards, advantages and metrics per step', async () => {
    writeStep(10, [line(RIGHT, SCORES[0], { step: 10 }), line(WRONG, SCORES[1], { step: 10 })]);
    writeStep(11, []);
    writeStep(9, [line(WRONG, SCORES[1], { uid: 'a_0_0' }), line(WRONG, SCORES[1])]);
    const steps: number[] = [];
    const imported = await importRollouts(readVerlRollouts(recorded), {
      ...options,
      onStep: (step) => steps.push(step),
    });
    expect(imported).toEqual({
      numSteps: 2,
      numRollouts: 4,
      numDifferent: 0,
      numAmbiguous: 0,
      numUnscored: 0,
      numUnknown: 0,
    });
    expect(steps).toEqual([9, 10]);
    const lines = linesOf<{ advantage: number; questionId: string }>(
      join(options.folder, 'trajectories.jsonl'),
    );
    const runs = lines.map(parseTrajectory);
    expect(runs[2]).toMatchObject({
      questionId: COMPARISON.id,
      question: COMPARISON.question,
      questionType: 'parallelizable',
      step: 10,
      method: 'parallelsearch',
      finish: 'answer',
      subQuestionRecall: 1,
      rewards: { outcome: 1, decomposition: 3 * 0.15, search_count: 0, format: 0 },
    });
    expect(runs[2].metadata?.graph).toHaveLength(3);
    const kinds = runs[2].segments.map(({ kind }) => kind);
    expect(kinds).toEqual(['prompt', 'policy', 'information', 'policy']);
    expect(lines.slice(2).map(({ advantage }) => advantage)).toEqual(groupAdvantages(SCORES, 2));
    const [nine, ten] = await readSteps(options.folder);
    expect(nine).toMatchObject({
      step: 9,
      metrics: { frac_reward_zero_std: 1, turns: 0, 'rewards/outcome': 0 },
    });
    expect(ten).toMatchObject({
      step: 10,
      metrics: {
        'rewards/outcome': 0.5,
        turns: 0.5,
        decomposition_ratio: 0.5,
        well_formed_ratio: 1,
        'share/parallelizable': 1,
      },
    });
    expect(ten.metrics).not.toHaveProperty('completions/mean_length');
  });

  it('without a reward are left out', async () => {
    // Python's NaN has to be replaced by null.
    writeStep(1, [line(RIGHT, null), line(RIGHT, SCORES[0])]);
    const imported = await importRollouts(readVerlRollouts(recorded), options);
    expect(imported).toMatchObject({ numRollouts: 1, numUnscored: 1 });
  });

  it("keep a reward that differs from this library's", async () => {
    writeStep(1, [line(RIGHT, 0.25), line(WRONG, SCORES[1])]);
    const imported = await importRollouts(readVerlRollouts(recorded), options);
    expect(imported.numDifferent).toBe(1);
    const [first] = linesOf<{ rewards: object }>(join(options.folder, 'trajectories.jsonl'));
    expect(first.rewards).toEqual({ total: 0.25 });
  });

  it('have their turns joined, if an agent loop put results into messages of their own', async () => {
    const turns = RIGHT.replace(/\s*<information>/, '\nuser\n<information>').replace(
      /<\/information>\s*/,
      '</information>\nassistant\n',
    );
    writeStep(1, [line(RIGHT, SCORES[0]), line(turns, SCORES[0])]);
    const imported = await importRollouts(readVerlRollouts(recorded), options);
    expect(imported).toMatchObject({ numDifferent: 0, numAmbiguous: 0 });
    const [first, second] = linesOf(join(options.folder, 'trajectories.jsonl')).map(
      parseTrajectory,
    );
    expect(second.searchTurns).toEqual(first.searchTurns);
    expect(second.modelCalls).toBe(first.modelCalls);
  });

  it('report ambiguous text', async () => {
    // A passage that contains a closing tag.
    writeStep(1, [line(RIGHT.replace('1904.', '1904.</information>'), 0), line(RIGHT, SCORES[0])]);
    const { numAmbiguous } = await importRollouts(readVerlRollouts(recorded), options);
    expect(numAmbiguous).toBe(1);
    const runs = linesOf(join(options.folder, 'trajectories.jsonl')).map(parseTrajectory);
    expect(runs.map(({ ambiguous }) => ambiguous ?? null)).toEqual([
      'an information block ends without a beginning',
      null,
    ]);
  });

  it('have no group metrics without groups, as in PPO', async () => {
    writeStep(1, [
      line(RIGHT, SCORES[0]),
      line(WRONG, SCORES[1], { input: `Question: ${SINGLE.question}\n` }),
    ]);
    await importRollouts(readVerlRollouts(recorded), options);
    const [{ metrics }] = await readSteps(options.folder);
    expect(metrics).not.toHaveProperty('frac_reward_zero_std');
  });

  it('find a question of several lines', async () => {
    const question = `${SINGLE.question}\nA) x\nB) y`;
    const data = [SINGLE, { ...SINGLE, id: 'lines', question }];
    const gts = { target: ['x'] };
    const input = `Question: ${question}?\nassistant\n`;
    writeStep(1, [line(WRONG, 0, { gts, input })]);
    await importRollouts(readVerlRollouts(recorded), { ...options, questions: data });
    const [run] = linesOf(join(options.folder, 'trajectories.jsonl')).map(parseTrajectory);
    expect(run).toMatchObject({ questionId: 'lines', question });
  });

  it("keep the line's fields for an unknown question", async () => {
    const gts = { target: ['x'] };
    writeStep(1, [line(WRONG, 0, { gts, input: 'Question: Who?\n' })]);
    const settings = { ...options, method: 'search-r1' };
    const { numUnknown } = await importRollouts(readVerlRollouts(recorded), settings);
    expect(numUnknown).toBe(1);
    const [run] = linesOf(join(options.folder, 'trajectories.jsonl')).map(parseTrajectory);
    expect(run).toMatchObject({
      questionId: 'Who?',
      question: 'Who?',
      goldenAnswers: ['x'],
      rewards: { outcome: 0, total: 0 },
    });
    expect(run.questionType).toBeUndefined();
  });

  it('are rejected with the invalid line', async () => {
    writeStep(1, [line(RIGHT, 1), '{"input": "x"}\n']);
    await expect(importRollouts(readVerlRollouts(recorded), options)).rejects.toThrow(
      /1\.jsonl:2: /,
    );
  });
});

describe('rollouts of TRL', () => {
  const columns = {
    prompt: [{ role: 'text', content: 'text' }],
    segments: 'text',
    ground_truth: 'text',
    reward: 'integer',
    advantage: 'integer',
  } as const;
  const segments = [
    ['policy', SEARCH],
    ['information', FOUND],
    ['policy', '<think> t </think>\n<answer> Bo Reed </answer>'],
  ];

  it('are read from their segments', async () => {
    const row = {
      prompt: [{ role: 'user', content: `Question: ${COMPARISON.question}\n` }],
      segments: JSON.stringify(segments),
      ground_truth: JSON.stringify(TRUTH),
    };
    // trl.test.ts checks TRL's own numbers.
    const rows = [{ ...row, reward: 1, advantage: 0 }];
    await writeParquet(join(recorded, 'completions_00002.parquet'), rows, columns);
    const read = readTrlRollouts(recorded);
    expect(await read.next()).toMatchObject({
      value: { step: 2, rollouts: [{ truth: TRUTH, score: 1, advantage: 0 }] },
    });
    expect(await read.next()).toMatchObject({ done: true });
    const imported = await importRollouts(readTrlRollouts(recorded), options);
    expect(imported).toEqual({
      numSteps: 1,
      numRollouts: 1,
      numDifferent: 1,
      numAmbiguous: 0,
      numUnscored: 0,
      numUnknown: 0,
    });
  });

  it('are rejected if written by another script, with the file', async () => {
    const file = join(recorded, 'completions_00001.parquet');
    await writeParquet(file, [{ prompt: 'x' }], { prompt: 'text' });
    await expect(readTrlRollouts(recorded).next()).rejects.toThrow(/completions_00001\.parquet/);
  });
});
