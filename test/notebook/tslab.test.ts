import { expect, it } from 'vitest';
import { continueAfterErrors, findCall } from '../../lib/notebook/tslab.js';

it.each([
  ['rollOut(', 'rollOut'],
  ['ps.rollOut(policy, ', 'ps.rollOut'],
  ['ps.rollOut(policy, [question], { randoms: [', 'ps.rollOut'],
  ['outer(inner(1), ', 'outer'],
  ['outer(inner(', 'outer(inner'],
  ['new Map<string, number>(', 'new Map'],
  ['rollOut (', 'rollOut'],
])('findCall finds in %s the call of %s', (code, called) => {
  expect(code.slice(0, findCall(code, code.length) ?? undefined)).toBe(called);
});

it.each(['', 'rollOut', 'rollOut()', '(1 + ', 'const { a, ', '[1, '])(
  'findCall finds no call at the end of %s',
  (code) => expect(findCall(code, code.length)).toBeNull(),
);

it.each([
  ['the next cell is rejected', true, 'abort'],
  ['the next cell runs if this one may fail', false, 'ok'],
])('after an error, %s', async (_, stopOnError, next) => {
  let isRejecting = false;
  const handler = {
    execQueue: { reset: () => void (isRejecting = false) },
    async handleExecute({ code }: { code: string }) {
      if (isRejecting) return { status: 'abort' };
      isRejecting = code === 'throw 1';
      return { status: isRejecting ? 'error' : 'ok' };
    },
  };
  continueAfterErrors(handler);
  await handler.handleExecute({ code: 'throw 1', stop_on_error: stopOnError } as never);
  expect(await handler.handleExecute({ code: '1' })).toEqual({ status: next });
});
