import { expect, it } from 'vitest';
import {
  figureText,
  gapWords,
  intervalText,
  pointsIntervalText,
  pointsText,
  ratioWords,
  sentence,
  shareWords,
} from '../../lib/report/text.js';

/** An interval of a half-width. */
const around = (value: number, width = 0.01) => {
  return { value, low: value - width, high: value + width };
};

it('figureText shows small numbers and rejects what is no number', () => {
  const shown = [0.5, -0, -4e-8, NaN, null].map((value) => figureText(value, 1));
  expect(shown).toEqual(['0.5', '0.0', '−4.0e-8', '–', '–']);
  expect(() => figureText('3' as never)).toThrow('but got "3"');
});

it('points keep digits below 0.05', () => {
  expect([0.0004, -5e-9, 0].map((x) => pointsText(x))).toEqual(['+0.040', '−5.0e-7', '0.0']);
  const small = { value: 0.0004, low: 0.0002, high: 0.00049 };
  expect(pointsIntervalText(small)).toBe('+0.040 [+0.020, +0.049]');
  expect(pointsIntervalText({ ...small, low: -0.012 })).toBe('0.0 [−1.2, 0.0]');
});

it('intervalText shows small numbers if all three are small', () => {
  expect(intervalText({ value: 4e-8, low: -1e-8, high: 9e-8 })).toBe('4.0e-8 [−1.0e-8, 9.0e-8]');
  expect(intervalText({ value: -0.0002, low: -0.03, high: 0.02 }, 2)).toBe('0.00 [−0.03, 0.02]');
});

it('shareWords turns shares close to simple fractions into words', () => {
  const words = [0.349, 0.24, 0.215, 0.61].map(shareWords);
  expect(words).toEqual(['a third', 'a quarter', 'a fifth', '61 %']);
});

it('ratioWords describes how a ratio differs from 1', () => {
  expect(ratioWords(around(0.651))).toBe('a third fewer');
  expect(ratioWords(around(1.12))).toBe('12 % more');
  expect(ratioWords(around(0.995))).toBe('as many');
});

it('gapWords describes a difference in whole points if significant', () => {
  expect(gapWords(around(-0.373))).toBe('37 points worse');
  expect(gapWords(around(0.012))).toBe('1.2 points better');
  expect(gapWords(around(-0.0224))).toBe('2.2 points worse');
  expect(gapWords(around(-0.0996))).toBe('10 points worse');
  expect(gapWords(around(0.002, 0.001))).toBe('less than a point better');
  expect(gapWords(around(0.005))).toBe('no different');
  expect(gapWords(around(-0.005), 'as good')).toBe('as good');
});

it('sentence adds a capital and a full stop', () => {
  expect(sentence('a third fewer')).toBe('A third fewer.');
});
