/** Tables and charts of the reports on the rewards' weights and on passages a sub-query, on made-up results. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { RECOMMENDED } from '../../lib/experiments/lambda-ablation/settings.js';
import { loadTopK } from '../../lib/experiments/top-k/measures.js';
import { cellsOf } from '../../lib/report/frame.js';
import * as lambdas from '../../lib/experiments/lambda-ablation/figures.js';
import {
  lambdaDynamicsChart,
  lambdaMetricChart,
  tradeOffChart,
} from '../../lib/experiments/lambda-ablation/charts.js';
import * as topK from '../../lib/experiments/top-k/figures.js';
import { writeSyntheticLambdaAblation } from './lambda-ablation/synthetic.js';
import { writeSyntheticTopK } from './top-k/synthetic.js';
import { describeCharts } from './describe-charts.js';

const folder = mkdtempSync(path.join(tmpdir(), 'ablations-'));
afterAll(() => rmSync(folder, { recursive: true }));

const options = { resamples: 60 };
const ablation = lambdas.loadLambdaAblation(writeSyntheticLambdaAblation(path.join(folder, 'l')), options);
const passages = loadTopK(writeSyntheticTopK(path.join(folder, 'k')), options);

const charts = [
  lambdaMetricChart(ablation, 'em'),
  lambdaMetricChart(ablation, 'coverage'),
  tradeOffChart(ablation),
  lambdaDynamicsChart(ablation, 'decomposition_ratio/parallelizable'),
  topK.topKChart(passages),
  topK.recallChart(passages),
];

describeCharts(charts);

describe('the weights of the rewards', () => {
  it('are in every row and contrast', () => {
    const { rows, contrasts } = ablation.tidy;
    expect(rows.length).toBeGreaterThan(0);
    for (const item of [...rows, ...contrasts]) {
      const { method, lambda_d, lambda_s } = item as Record<string, unknown>;
      expect(method).toBe(`lambda_d=${String(lambda_d)},lambda_s=${String(lambda_s)}`);
    }
  });

  it('stand beside the paper’s Table 4', () => {
    const table = cellsOf(lambdas.lambdaTable(ablation, '2wikimultihopqa'));
    const row = table.rows.find(([setting]) => setting === '(0.15, 0.35)')!;
    const paper = table.columns.flatMap((column, c) => (column.endsWith('paper') ? [row[c]] : []));
    expect(paper).toEqual(['0.650', '0.998', '2.03']);
    expect(cellsOf(lambdas.lambdaTable(ablation, 'all')).columns.join()).not.toContain('paper');
  });

  it('compare the paper’s setting with all others, and the twins with each other', () => {
    const { rows } = cellsOf(lambdas.lambdaContrastTable(ablation));
    expect(rows).toHaveLength(9);
    const withoutSearchCount = rows.find((row) => row[2] === '(0.15, 0)')!;
    expect(withoutSearchCount.at(-1)).toBe('−2.00 [−2.00, −2.00]');
    const withoutDecomposition = rows.find((row) => row[2] === '(0, 0.35)')!;
    expect(withoutDecomposition[4]).toBe('+100.0 [+100.0, +100.0]');
    const twins = cellsOf(lambdas.identicalRowsTable(ablation)).rows;
    expect(twins.map((row) => row.slice(1, 3))).toEqual(Array(2).fill(['(0.5, 0.35)', '(0.15, 0.5)']));
    expect(ablation.tidy.provenance.headlines).toMatchObject(Array(3).fill({ holds: true }));
  });

  it('show neither reward, each alone, and both', () => {
    const { rows } = cellsOf(lambdas.eachRewardTable(ablation));
    expect(rows.slice(0, 6).map((row) => row[1])).toEqual([
      ...['(0, 0)', '(0, 0.35)', '(0.15, 0)', '(0, 0.01)', '(0.01, 0)', '(0.15, 0.35)'],
    ]);
  });

  it('compare each reward alone with neither, be it ever so faint', () => {
    const { rows } = cellsOf(lambdas.rewardAloneTable(ablation));
    expect(rows.map((row) => row[1])).toEqual(['(0, 0.35)', '(0.15, 0)', '(0, 0.01)', '(0.01, 0)']);
    expect(rows.map((row) => row[2])).toEqual(Array(4).fill('(0, 0)'));
    // In the made-up results any lambda_s saves two calls, and any lambda_d decomposes all.
    expect(rows[2].at(-1)).toBe('−2.00 [−2.00, −2.00]');
    expect(rows[3][4]).toBe('+100.0 [+100.0, +100.0]');
  });

  it('need what the experiment wrote', () => {
    expect(() => lambdas.loadLambdaAblation(folder)).toThrow('npx parallelsearch experiment lambda-ablation');
    expect(ablation.settings.some(({ lambdaD }) => lambdaD === 0)).toBe(true);
    expect(ablation.figures.contrasts.filter(({ method }) => method === RECOMMENDED).length).toBeGreaterThan(
      0,
    );
  });
});

describe('passages a sub-query', () => {
  const gain = { method: 'parallelsearch', against: 'parallelsearch', benchmark: 'all', subset: 'all' };
  const contrastsWith = (fields: object): unknown[] =>
    passages.tidy.contrasts.filter((contrast) =>
      Object.entries(fields).every(([key, value]) => contrast[key as keyof typeof contrast] === value),
    );

  it('are in every row and contrast, with the retriever', () => {
    for (const { method, retriever, k } of [...passages.tidy.rows, ...passages.tidy.contrasts]) {
      expect(['parallelsearch', 'search-r1']).toContain(method);
      expect(['bm25', 'exact', 'hnsw']).toContain(retriever);
      expect([1, 3, 5, 10]).toContain(k);
    }
  });

  it('are compared with one passage, with BM25 and with the other method, each once', () => {
    const em = { ...gain, metric: 'em', kind: 'difference', k: 10 };
    const [more, ...rest] = contrastsWith({ ...em, retriever: 'bm25', against_k: 1 }) as { value: number }[];
    expect(rest).toEqual([]);
    expect(more.value).toBeGreaterThan(0);
    expect(contrastsWith({ ...em, retriever: 'exact', against_k: 1 })).toMatchObject([{ value: 0 }]);
    expect(contrastsWith({ ...em, retriever: 'hnsw', against_retriever: 'bm25' })).toHaveLength(1);
    expect(contrastsWith({ ...em, against: 'search-r1' })).toHaveLength(3);
  });

  it('are counted: found, seen, left out', () => {
    const { columns, rows } = cellsOf(topK.roomTable(passages));
    expect(rows).toHaveLength(3 * 2 * 4);
    const atTen = rows.find((row) => row[2] === '10')!;
    expect(atTen[columns.indexOf('Seen a sub-query [95 %]')]).toBe('3.000 [3.000, 3.000]');
    expect(atTen[columns.indexOf('Left out, share of those found [95 %]')]).toBe('0.700 [0.700, 0.700]');
  });

  it('are shown by retriever, method and k', () => {
    expect(cellsOf(topK.topKTable(passages)).rows).toHaveLength(3 * 2);
    expect(cellsOf(topK.topKGainTable(passages)).rows[2].slice(2)).toEqual([
      '–',
      ...Array<string>(3).fill('0.0 [0.0, 0.0]'),
    ]);
    expect(cellsOf(topK.topKMethodTable(passages, 'parallelizable')).rows).toHaveLength(3);
    expect(cellsOf(topK.recallTable(passages)).rows[0]).toEqual(['BM25', '0.600', '0.867', '0.920', '0.960']);
  });

  it('need what the experiment wrote', () => {
    expect(() => loadTopK(folder)).toThrow('npx parallelsearch experiment top-k');
  });
});
