import { expect, it } from 'vitest';
import { decimalText } from '../../lib/text/figures.js';

it('shows no number but zero as zero', () => {
  expect([0, 5e-7, -3e-4, 5e-4, 0.0449, 2].map((x) => decimalText(x))).toEqual([
    '0.000',
    '5.0e-7',
    '-0.00030',
    '0.001',
    '0.045',
    '2.000',
  ]);
});
