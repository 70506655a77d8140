import { describe, expect, it } from 'vitest';
import { matching } from '../../../lib/evaluation/figures.js';
import { paperGains } from '../../../lib/experiments/parallel-vs-sequential.js';
import { paperFigure, paperMean, paperRows } from '../../../lib/experiments/results/paper.js';

describe('the paper’s figures', () => {
  it.each([
    // Table 2: whole benchmarks and their average
    ['parallelsearch', 'instruct', '2wikimultihopqa', 'all', 'em', 0.424],
    ['search-r1', 'base', 'average', 'all', 'em', 0.434],
    // Tables 3 and 6: subsets, as shares and model calls
    ['parallelsearch', 'base', 'hotpotqa', 'parallelizable', 'decomposition_ratio', 0.9703],
    ['search-r1', 'instruct', '2wikimultihopqa', 'parallelizable', 'model_calls', 3.05],
    ['search-r1-parallel-prompt', 'base', '2wikimultihopqa', 'sequential', 'em', 0.2526],
    // Table 4: settings of the lambdas
    ['lambda_d=0.15,lambda_s=0.35', 'instruct', '2wikimultihopqa', 'parallelizable', 'em', 0.65],
    ['lambda_d=0.15,lambda_s=0', 'instruct', 'hotpotqa', 'parallelizable', 'model_calls', 2.67],
    // Not in the paper
    ['parallelsearch', 'base', 'all', 'all', 'em', null],
    ['r1', 'base', 'hotpotqa', 'parallelizable', 'em', null],
    ['parallelsearch', 'base', 'hotpotqa', 'hybrid', 'em', null],
    ['parallelsearch', 'base', 'nq', 'all', 'f1', null],
    ['lambda_d=0,lambda_s=0', 'instruct', 'hotpotqa', 'parallelizable', 'em', null],
  ])('%s from %s, %s, %s, %s: %s', (method, model, benchmark, subset, metric, expected) => {
    expect(paperFigure({ method, model, benchmark, subset, metric })).toBe(expected);
  });

  it('can be selected by any fields, with our method names', () => {
    const cell = { method: 'search-r1', subset: 'parallelizable', metric: 'em' };
    const dataSets = new Set(paperRows(cell).map(({ benchmark }) => benchmark));
    expect([...dataSets]).toEqual(['hotpotqa', '2wikimultihopqa', 'MultihopRAG']);
    expect(paperMean({ ...cell, benchmark: 'nowhere' })).toBeNaN();
  });
});

describe('means of the paper’s tables', () => {
  const gains = paperGains('parallelizable');
  const selectGain = (model: string, countsOnce: 'data set' | 'question') =>
    matching(gains, { model, countsOnce })[0];

  it('give "+12.7 %" only as points of the instruct model: (1.947 - 1.565) / 3', () => {
    const instruct = selectGain('instruct', 'data set');
    expect(instruct.difference).toBeCloseTo((1.947 - 1.565) / 3, 12);
    const figures = gains.flatMap(({ difference, relative }) => [difference, relative]);
    expect(figures.filter((x) => (100 * x).toFixed(1) === '12.7')).toEqual([instruct.difference]);
  });

  it('weight questions by Table 5: 1,487, 3,040 and 856', () => {
    const weighted = (hotpot: number, wiki: number, news: number): number =>
      (hotpot * 1487 + wiki * 3040 + news * 856) / (1487 + 3040 + 856);
    const gain = weighted(0.656, 0.65, 0.641) - weighted(0.58, 0.476, 0.509);
    expect(selectGain('instruct', 'question').difference).toBeCloseTo(gain, 12);
  });

  it('convert the percentages of Table 6 to shares', () => {
    const cell = { method: 'parallelsearch', model: 'base', subset: 'sequential', metric: 'em' };
    expect(paperMean(cell)).toBeCloseTo((0.4061 + 0.2608 + 0.9115) / 3, 12);
  });
});
