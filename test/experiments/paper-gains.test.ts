import { describe, expect, it } from 'vitest';
import { loadPaperTables } from '../../lib/experiments/paper.js';
import { paperAverageGain, paperGains, paperMean, paperRatio } from '../../lib/experiments/paper-gains.js';

const paper = loadPaperTables();

describe('means of the paper’s tables', () => {
  it('give "+12.7 %" as points of the instruct backbone: (1.947 - 1.565) / 3', () => {
    const gains = paperGains(paper, 'parallelizable');
    const find = (model: string, weighBy: string) =>
      gains.find((g) => g.model === model && g.weighBy === weighBy)!;
    expect(find('instruct', 'data sets').difference).toBeCloseTo((1.947 - 1.565) / 3, 12);
    expect((100 * find('instruct', 'data sets').difference).toFixed(1)).toBe('12.7');
    const others = gains.filter((g) => g !== find('instruct', 'data sets'));
    const rounded = [...others.map((g) => g.difference), ...gains.map((g) => g.relative)].map((x) =>
      (100 * x).toFixed(1),
    );
    expect(rounded).not.toContain('12.7');
  });

  it('count questions by Table 5: 1,487, 3,040 and 856', () => {
    const mean = paperMean(paper, {
      ...{
        table: 'parallelizable',
        column: 'em',
        method: 'search-r1',
        model: 'instruct',
        weighBy: 'questions',
      },
    });
    expect(mean).toBeCloseTo((0.58 * 1487 + 0.476 * 3040 + 0.509 * 856) / (1487 + 3040 + 856), 12);
  });

  it('read Table 6, whose exact match is in percent, as shares', () => {
    const mean = paperMean(paper, {
      table: 'sequential',
      column: 'em',
      method: 'parallelsearch',
      model: 'base',
    });
    expect(mean).toBeCloseTo((0.4061 + 0.2608 + 0.9115) / 3, 12);
  });

  it('bear out the 69.6 % of the model calls up to rounding (2.34 / 3.36; unrounded 0.6968)', () => {
    const ratio = paperRatio(paper, { table: 'parallelizable', column: 'turns', model: 'all' });
    expect(ratio).toBeCloseTo(0.6968, 4);
  });

  it('give +2.9 over the best other average: +3.4 over ZeroSearch, +2.4 over Search-R1', () => {
    expect(paperAverageGain(paper, 'instruct')).toBeCloseTo(0.425 - 0.391, 12);
    expect(paperAverageGain(paper, 'base')).toBeCloseTo(0.458 - 0.434, 12);
  });
});
