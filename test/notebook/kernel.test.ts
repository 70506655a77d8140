import { expect, it } from 'vitest';
import { findCall } from '../../lib/notebook/kernel.js';

it.each([
  ['rollOut(', 'rollOut'],
  ['ps.rollOut(policy, ', 'ps.rollOut'],
  ['ps.rollOut(policy, [question], { randoms: [', 'ps.rollOut'],
  ['outer(inner(1), ', 'outer'],
  ['outer(inner(', 'outer(inner'],
  ['new Map<string, number>(', 'new Map'],
  ['rollOut (', 'rollOut'],
])('in %s, %s is called', (code, called) => {
  expect(code.slice(0, findCall(code, code.length) ?? undefined)).toBe(called);
});

it.each(['', 'rollOut', 'rollOut()', '(1 + ', 'const { a, ', '[1, '])(
  'nothing is called at the end of %s',
  (code) => expect(findCall(code, code.length)).toBeNull(),
);
