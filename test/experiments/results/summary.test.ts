import { expect, it } from 'vitest';
import { checkPredictions } from '../../../lib/experiments/results/summary.js';

const sides = { method: 'parallelsearch', against: 'search-r1', model: 'all' };
const ratio = { ...sides, kind: 'ratio', metric: 'model_calls', value: 0.4, low: 0.3, high: 0.5 };
const gap = { ...sides, kind: 'difference', metric: 'em', value: 0.02, low: 0.01, high: 0.03 };

it('a prediction has its figure with unit and pooling, and the figure that explains it', () => {
  const figure = { kind: 'difference', metric: 'em' };
  const because = { where: 'in calls', figure: { kind: 'ratio', model: 'all' } };
  const holds = ({ low }: { low: number }): boolean => low > 0;
  const predicted = [
    { prediction: 'Ahead', figure, holds, because },
    { prediction: 'Not computed', figure: { metric: 'f1' }, holds },
    { prediction: 'Ahead once', figure, holds, isOneTraining: true },
  ];
  const predictions = checkPredictions({ rows: [], contrasts: [gap, ratio] }, predicted);
  expect(predictions).toMatchObject([
    { prediction: 'Ahead', holds: true },
    { prediction: 'Ahead once', holds: 'one training' },
  ]);
  expect(predictions[0].found).toMatch(/^\+2\.0 .* points, .*pooled; in calls 0\.400 /);
});
