/** Tables and charts of the reports on models, kinds of question and decomposition, on made-up results. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  dynamicsChart,
  dynamicsTable,
  loadBaseVsInstruct,
  modelChart,
  modelGapTable,
  modelTable,
} from '../../lib/experiments/base-vs-instruct/figures.js';
import { trainingChart } from '../../lib/report/charts.js';
import * as decomposition from '../../lib/experiments/decomposition/figures.js';
import { cellsOf } from '../../lib/report/frame.js';
import * as kinds from '../../lib/experiments/parallel-vs-sequential/figures.js';
import { findContrast, findRow } from '../../lib/report/select.js';
import { writeSyntheticEvaluation, writeSyntheticTiming } from './synthetic.js';
import { describeCharts } from './describe-charts.js';

const folder = mkdtempSync(path.join(tmpdir(), 'figures-'));
writeSyntheticEvaluation(folder, { perTemplate: 8, seeds: 2 });
const timing = path.join(folder, 'timing');
writeSyntheticTiming(timing, { perTemplate: 4, seeds: 2 });
afterAll(() => rmSync(folder, { recursive: true }));

const options = { resamples: 60 };
const tokenizer = 'data/checkpoints/base/tokenizer.json';
const models = loadBaseVsInstruct(folder, options);
const both = kinds.loadParallelVsSequential(folder, timing, options);
const graphs = decomposition.loadDecomposition(
  folder,
  path.join(folder, 'questions.jsonl'),
  tokenizer,
  options,
);

const charts = [
  modelChart(models),
  dynamicsChart(models, 'turns'),
  kinds.distributionChart(both, 'model_calls'),
  kinds.distributionChart(both, 'response_tokens'),
  decomposition.decomposedChart(graphs),
  trainingChart(graphs, 'parallelizing_f1'),
];

describeCharts(charts);

describe('the two models', () => {
  it('differ by their rows, and in the paper by +3.3 points on average', () => {
    const cell = { benchmark: 'average', subset: 'all', metric: 'em' } as const;
    const em = (model: string): number =>
      findRow(models.figures, { ...cell, method: 'parallelsearch', model })!.value;
    const gap = findContrast(models.figures, {
      ...{ ...cell, method: 'parallelsearch', against: 'parallelsearch', model: 'base', kind: 'difference' },
    });
    expect(gap).toMatchObject({ against_model: 'instruct' });
    expect(gap!.value).toBeCloseTo(em('base') - em('instruct'), 5);
    const { rows } = cellsOf(modelGapTable(models));
    expect(rows.at(-1)!.slice(0, 3)).toEqual(['ParallelSearch', 'Average', '+3.3']);
  });

  it('are shown metric by metric, and over training', () => {
    expect(cellsOf(modelTable(models)).rows).toHaveLength(4 * 6);
    expect(cellsOf(dynamicsTable(models)).rows).toHaveLength(5 * 4);
    const turns = models.tidy.rows.filter(
      (row) => 'band' in row && 'metric' in row && row.metric === 'turns',
    );
    expect(turns[0]).toMatchObject({
      benchmark: 'training',
      subset: 'all',
      seeds: 3,
      band: 'range of seeds',
    });
  });
});

describe('the two kinds of question', () => {
  it('stand beside the paper’s Tables 3 and 6, seconds included', () => {
    const table = cellsOf(kinds.kindTable(both, 'parallelizable'));
    const ours = table.rows.find((row) => row.slice(0, 3).join() === 'HotpotQA,base,ParallelSearch')!;
    const paper = table.columns.flatMap((column, c) => (column.endsWith('paper') ? [ours[c]] : []));
    expect(paper).toEqual(['0.673', '0.970', '2.160', '2.13']);
    const seconds = findRow(both.tidy, {
      ...{
        benchmark: 'all',
        subset: 'parallelizable',
        metric: 'seconds',
        method: 'parallelsearch',
        model: 'base',
      },
    });
    expect(seconds?.value).toBeCloseTo(0.02, 6);
  });

  it('are as many as were asked, whoever answered', () => {
    const { rows } = cellsOf(kinds.sizesTable(both));
    expect(rows[0]).toEqual(['HotpotQA', '1487', '8', '5918', '8']);
    expect(rows[2]).toEqual(['MultihopRAG', '856', '–', '816', '–']);
  });

  it('recompute +12.7 from the paper’s table and show ours beside it', () => {
    const { rows } = cellsOf(kinds.gainTable(both));
    expect(rows[0].slice(0, 3)).toEqual(['instruct', 'data set', '+12.7']);
    expect(rows[1][4]).toMatch(/^[+−]?\d+\.\d \[/);
    expect(cellsOf(kinds.paperCostTable()).rows[2]).toEqual(['parallelizable', 'both', '0.697', '0.896']);
    expect(cellsOf(kinds.kindContrastTable(both)).rows).toHaveLength(4 * 3);
    expect(cellsOf(kinds.lengthTable(both)).rows).toHaveLength(2 * 2 * 4);
  });

  it('leave seconds out where they were not measured', () => {
    const untimed = kinds.loadParallelVsSequential(folder, path.join(folder, 'none'), options);
    expect(untimed.tidy.rows.some(({ metric }) => metric === 'seconds')).toBe(false);
    const table = cellsOf(kinds.kindTable(untimed, 'sequential'));
    const column = table.columns.indexOf('Seconds a question · here [95 %]');
    expect(new Set(table.rows.map((row) => row[column]))).toEqual(new Set(['–']));
  });
});

describe('decomposition', () => {
  it('is perfect for a policy that asks all sub-questions of parallelizable questions at once', () => {
    const tables = [decomposition.parallelizingTable(graphs), decomposition.matchTable(graphs)].map(cellsOf);
    const perfect = '1.000 [1.000, 1.000]';
    for (const { rows } of tables) {
      const ours = rows.filter((row) => row[1] === 'ParallelSearch').map((row) => row.slice(2, 5));
      expect(ours).toEqual([
        [perfect, perfect, perfect],
        [perfect, perfect, perfect],
      ]);
    }
    expect(cellsOf(decomposition.parallelizingTable(graphs)).rows[0].slice(1)).toEqual([
      ...['Search-R1', '–', '0.000 [0.000, 0.000]', '0.000 [0.000, 0.000]'],
    ]);
    expect(graphs.tidy.provenance.headlines).toHaveLength(4);
  });

  it('is compared with decomposing everything: 16 of 72 questions', () => {
    expect(decomposition.alwaysF1(graphs.figures.rows)).toBeCloseTo((2 * 16) / (72 + 16), 12);
  });

  it('shows wrong parallelization by benchmark, hybrids apart, right and wrong answers apart', () => {
    expect(cellsOf(decomposition.wrongTable(graphs)).rows).toHaveLength(5 * 2);
    expect(cellsOf(decomposition.hybridTable(graphs)).caption).toContain('8 hybrid questions');
    expect(cellsOf(decomposition.rightWrongTable(graphs)).rows).toHaveLength(3 * 2);
    expect(cellsOf(decomposition.omissionsTable(graphs)).rows).toHaveLength(3 * 2);
    expect(cellsOf(decomposition.namesTable(graphs)).columns).toHaveLength(2 + 2 * 2);
    expect(cellsOf(decomposition.missedNamesTable(graphs)).caption).toMatch(/of \d+ names were left out/);
    expect(cellsOf(decomposition.benchmarkF1Table(graphs)).rows).toHaveLength(3 * 2 * 3);
  });
});
