import { describe, expect, it } from 'vitest';
import {
  identicalSettings,
  lambdaGrid,
  lambdaMethod,
  lambdasOfMethod,
  lambdaTitle,
  paperLambdaFigure,
  RECOMMENDED,
} from '../../../lib/experiments/lambda-ablation/settings.js';
import { loadPaperTables } from '../../../lib/experiments/paper.js';

describe('the settings of Table 4', () => {
  it('are seven, each once, with lambda_d and lambda_s in 0, 0.15, 0.35, 0.5', () => {
    const grid = lambdaGrid();
    expect(grid).toHaveLength(7);
    expect(new Set(grid.map(lambdaMethod)).size).toBe(7);
    for (const value of [0, 0.15, 0.35, 0.5]) {
      expect(grid).toContainEqual({ lambdaD: value, lambdaS: 0.35 });
      expect(grid).toContainEqual({ lambdaD: 0.15, lambdaS: value });
    }
  });

  it('have names that can be read back', () => {
    for (const setting of lambdaGrid()) expect(lambdasOfMethod(lambdaMethod(setting))).toEqual(setting);
    expect(RECOMMENDED).toBe('lambda_d=0.15,lambda_s=0.35');
    expect(() => lambdasOfMethod('parallelsearch')).toThrow('but got "parallelsearch"');
  });

  it('have two whose rows are the same to the last digit', () => {
    expect(identicalSettings().map(lambdaTitle)).toEqual(['(0.5, 0.35)', '(0.15, 0.5)']);
  });

  it('have the paper’s figures where it prints them', () => {
    const paper = loadPaperTables();
    const cell = { lambdaD: 0.15, lambdaS: 0, benchmark: 'hotpotqa', subset: 'parallelizable' };
    expect(paperLambdaFigure(paper, { ...cell, metric: 'em' })).toBe(0.61);
    expect(paperLambdaFigure(paper, { ...cell, metric: 'decomposition_ratio' })).toBe(0.9641);
    expect(paperLambdaFigure(paper, { ...cell, metric: 'model_calls' })).toBe(2.67);
    expect(paperLambdaFigure(paper, { ...cell, metric: 'coverage' })).toBeNull();
    expect(paperLambdaFigure(paper, { ...cell, metric: 'em', subset: 'sequential' })).toBeNull();
    expect(paperLambdaFigure(paper, { ...cell, metric: 'em', benchmark: 'all' })).toBeNull();
    expect(paperLambdaFigure(paper, { ...cell, lambdaD: 1, metric: 'em' })).toBeNull();
  });
});
