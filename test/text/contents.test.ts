import { expect, it } from 'vitest';
import { joinContents, splitContents } from '../../lib/data/passage.js';

it.each([
  ['T\na\nb', 'T', 'a\nb'],
  ['"T"\r\n a', 'T', 'a'],
  ['a single line', '', 'a single line'],
  ['a single line\r\n', '', 'a single line'],
])('splits the title off at the first line break: %j', (contents, title, text) => {
  expect(splitContents(contents)).toEqual({ title, text });
});

it.each(['T', '', '"', '""', '"Heroes"', '""Heroes""', '"A" and "B"', '"Heroes" (album)'])(
  'keeps a title: %s',
  (title) => {
    expect(splitContents(joinContents(title, 'a'))).toEqual({ title, text: 'a' });
  },
);

it('joins the lines of a title', () => {
  expect(joinContents(' City\r\n of Oslo ', 'a')).toBe('City of Oslo\na');
});
